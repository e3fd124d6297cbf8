-- Tasks whose heartbeat is -infinity or ahead of the server's clock. Without an index: due tasks.
-- Indexes: a full scan of a small table; else one on tasks(heartbeat), or idx_tasks_ready_at, the first 5,000 rows;
-- tasks_pkey.
due AS MATERIALIZED (
  (SELECT task_id, task_type, wake_at, heartbeat FROM :"schema".tasks
    WHERE :ids IS NULL AND 'task_scan' = ANY (:met_needs) AND (heartbeat > now() OR heartbeat = '-infinity'))
  UNION
  (SELECT task_id, task_type, wake_at, heartbeat FROM :"schema".tasks
    WHERE :ids IS NULL AND NOT 'task_by_heartbeat' = ANY (:met_needs) AND wake_at <= now() ORDER BY wake_at LIMIT 5000)
  UNION
  (SELECT task_id, task_type, wake_at, heartbeat FROM :"schema".tasks
    WHERE :ids IS NULL AND 'task_by_heartbeat' = ANY (:met_needs) AND NOT 'task_scan' = ANY (:met_needs)
      AND heartbeat <> '0001-01-01T00:00:00Z'::timestamptz AND heartbeat > now() LIMIT 5000)
  UNION
  (SELECT task_id, task_type, wake_at, heartbeat FROM :"schema".tasks
    WHERE :ids IS NULL AND 'task_by_heartbeat' = ANY (:met_needs) AND NOT 'task_scan' = ANY (:met_needs)
      AND heartbeat <> '0001-01-01T00:00:00Z'::timestamptz AND heartbeat = '-infinity' LIMIT 5000)
  UNION
  (SELECT task_id, task_type, wake_at, heartbeat FROM :"schema".tasks WHERE task_id = ANY (:task_keys))
),
more AS (SELECT NOT 'task_by_heartbeat' = ANY (:met_needs) AND count(*) = 5000 AS more FROM due),
\ir nodes.sql
