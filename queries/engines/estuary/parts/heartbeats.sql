-- Due tasks, and those whose heartbeat is -infinity or ahead of the server's clock.
-- Indexes: idx_tasks_ready_at, the first 5,000 rows; tasks_pkey; one on tasks(heartbeat), or a full scan of a small table.
due AS MATERIALIZED (
  (SELECT task_id, task_type, wake_at, heartbeat FROM :"schema".tasks WHERE :ids IS NULL AND wake_at <= now() ORDER BY wake_at LIMIT 5000)
  UNION
  (SELECT task_id, task_type, wake_at, heartbeat FROM :"schema".tasks
    WHERE :ids IS NULL AND 'task_by_heartbeat' = ANY (:met_needs) AND heartbeat <> '0001-01-01T00:00:00Z'::timestamptz AND heartbeat > now() LIMIT 5000)
  UNION
  (SELECT task_id, task_type, wake_at, heartbeat FROM :"schema".tasks
    WHERE :ids IS NULL AND 'task_by_heartbeat' = ANY (:met_needs) AND heartbeat <> '0001-01-01T00:00:00Z'::timestamptz AND heartbeat = '-infinity' LIMIT 5000)
  UNION
  (SELECT task_id, task_type, wake_at, heartbeat FROM :"schema".tasks WHERE task_id = ANY (:task_keys))
),
more AS (SELECT NOT 'task_by_heartbeat' = ANY (:met_needs) AND count(*) = 5000 AS more FROM due),
\ir nodes.sql
