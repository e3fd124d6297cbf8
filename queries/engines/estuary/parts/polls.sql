-- usual: the locked tasks of each type, and for how long half of them have been due. Then the due tasks.
-- Index: idx_tasks_ready_at, the first 5,000 rows; a locked task has a wake_at in the past.
usual AS MATERIALIZED (
  SELECT p.task_type, count(*) AS polls, percentile_disc(0.5) WITHIN GROUP (ORDER BY now() - p.wake_at) AS half
    FROM (SELECT task_type, wake_at, heartbeat FROM :"schema".tasks WHERE wake_at <= now() ORDER BY wake_at LIMIT 5000) AS p
   WHERE p.heartbeat <> '0001-01-01T00:00:00Z'::timestamptz AND isfinite(p.wake_at)
   GROUP BY p.task_type
),
\ir due.sql
