-- title: All dead letters of this task
-- kinds: task dead_letter
-- Indexes: tasks_dlq_pkey, idx_dlq_task.
SELECT d.dlq_timestamp::text AS at, d.dlq_reason::text AS reason, d.original_state::text AS was, d.resolution_status::text AS decided,
       d.resolution_timestamp::text AS decided_at, d.resolved_by::text AS by, left(d.resolution_notes, 200) AS note, d.dlq_entry_uuid::text AS id
  FROM :"schema".tasks_dlq d
 WHERE d.task_uuid = CASE WHEN :id LIKE 'task:%' THEN split_part(:id, ':', 2)::uuid
                          ELSE (SELECT o.task_uuid FROM :"schema".tasks_dlq o WHERE o.dlq_entry_uuid = split_part(:id, ':', 2)::uuid) END
 ORDER BY d.dlq_timestamp DESC
 LIMIT 50
