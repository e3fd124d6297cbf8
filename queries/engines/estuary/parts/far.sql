-- Sleeping tasks that are due far beyond those of their type: more than the threshold due_far_ahead from now, and more
-- than 20 times the usual distance of the type's next tasks, or ten years without such tasks. An overflowed delay looks
-- so, or one of a calendar: only far ones are beyond each calendar.
-- Index: idx_tasks_ready_at backwards, the last 200 tasks beyond the threshold. If there are any: the next 500, too.
far AS MATERIALIZED (
  SELECT f.*
    FROM (SELECT task_id, task_type, wake_at, heartbeat FROM :"schema".tasks
           WHERE wake_at > now() + :due_far_ahead
           ORDER BY wake_at DESC LIMIT 200) AS f
   WHERE f.heartbeat <= '0001-01-01T00:00:00Z'::timestamptz
     AND (:ids IS NULL OR f.task_id = ANY (:task_keys))
),
usual AS (
  SELECT n.task_type, percentile_disc(0.5) WITHIN GROUP (ORDER BY n.wake_at - now()) AS distance
    FROM (SELECT task_type, wake_at FROM :"schema".tasks
           WHERE EXISTS (SELECT FROM far) AND wake_at > now() AND wake_at < now() + :due_far_ahead
           ORDER BY wake_at LIMIT 500) AS n
   GROUP BY n.task_type
),
nodes AS (
  SELECT 'task:' || f.task_id AS id, f.task_id, f.task_type, f.wake_at, u.distance, f.wake_at > now() + interval '10 years' AS far
    FROM far f LEFT JOIN usual u ON u.task_type = f.task_type
),
more AS (SELECT count(*) = 200 AS more FROM far)
