-- Due tasks as nodes, the 5,000 with the earliest wake_at, or the tasks of the given ids.
-- Indexes: idx_tasks_ready_at, the first 5,000 rows; tasks_pkey.
due AS MATERIALIZED (
  (SELECT task_id, task_type, wake_at, heartbeat, inbox, inbox_next FROM :"schema".tasks WHERE :ids IS NULL AND wake_at <= now() ORDER BY wake_at LIMIT 5000)
  UNION ALL
  (SELECT task_id, task_type, wake_at, heartbeat, inbox, inbox_next FROM :"schema".tasks WHERE task_id = ANY (:task_keys))
),
more AS (SELECT count(*) = 5000 AS more FROM due),
\ir nodes.sql
