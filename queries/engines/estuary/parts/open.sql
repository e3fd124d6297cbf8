-- Due tasks; of a small table, all tasks.
-- Indexes: idx_tasks_ready_at, the first 5,000 rows; tasks_pkey; a full scan of a small table.
due AS MATERIALIZED (
  (SELECT task_id, task_type, wake_at, heartbeat, parent_id, inbox_next FROM :"schema".tasks
    WHERE :ids IS NULL AND NOT 'task_scan' = ANY (:met_needs) AND wake_at <= now() ORDER BY wake_at LIMIT 5000)
  UNION ALL
  (SELECT task_id, task_type, wake_at, heartbeat, parent_id, inbox_next FROM :"schema".tasks WHERE :ids IS NULL AND 'task_scan' = ANY (:met_needs))
  UNION ALL
  (SELECT task_id, task_type, wake_at, heartbeat, parent_id, inbox_next FROM :"schema".tasks WHERE task_id = ANY (:task_keys))
),
more AS (SELECT NOT 'task_scan' = ANY (:met_needs) AND count(*) = 5000 AS more FROM due),
\ir nodes.sql
