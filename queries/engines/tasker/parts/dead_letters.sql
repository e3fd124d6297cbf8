-- Pending dead letters: the requested ones, or the newest 5,000. Indexes: tasks_dlq_pkey, idx_dlq_status_timestamp.
dead_letters AS MATERIALIZED (
  (SELECT d.dlq_entry_uuid, d.task_uuid, d.dlq_reason, d.original_state, d.dlq_timestamp
     FROM :"schema".tasks_dlq d
    WHERE :ids IS NULL AND d.resolution_status = 'pending'
    ORDER BY d.dlq_timestamp DESC LIMIT 5000)
  UNION ALL
  SELECT d.dlq_entry_uuid, d.task_uuid, d.dlq_reason, d.original_state, d.dlq_timestamp
    FROM :"schema".tasks_dlq d
   WHERE d.dlq_entry_uuid = ANY (:dead_letter_keys)
     AND d.resolution_status = 'pending' AND :ids IS NOT NULL
)
