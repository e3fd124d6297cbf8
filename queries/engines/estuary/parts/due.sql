-- Due tasks as nodes, the 5,000 with the earliest wake_at, or the tasks of the given ids. usual: the locked tasks of
-- each type, and for how long half of them have been due; it is read only where it is used.
-- Indexes: idx_tasks_ready_at, the first 5,000 rows; a locked task has a wake_at in the past; tasks_pkey.
due AS MATERIALIZED (
  (SELECT task_id, task_type, wake_at, heartbeat, inbox, inbox_next FROM :"schema".tasks WHERE :ids IS NULL AND wake_at <= now() ORDER BY wake_at LIMIT 5000)
  UNION ALL
  (SELECT task_id, task_type, wake_at, heartbeat, inbox, inbox_next FROM :"schema".tasks WHERE task_id = ANY (:task_keys))
),
more AS (SELECT count(*) = 5000 AS more FROM due),
usual AS MATERIALIZED (
  SELECT p.task_type, count(*) AS polls, percentile_disc(0.5) WITHIN GROUP (ORDER BY now() - p.wake_at) AS half
    FROM (SELECT task_type, wake_at, heartbeat FROM :"schema".tasks WHERE wake_at <= now() ORDER BY wake_at LIMIT 5000) AS p
   WHERE p.heartbeat <> '0001-01-01T00:00:00Z'::timestamptz AND isfinite(p.wake_at)
   GROUP BY p.task_type
)
, \ir nodes.sql
