-- title: All dead letters of this task
-- kinds: dead_letter
-- $1 id text: local id
-- Indexes: tasks_dlq_pkey, idx_dlq_task.
SELECT o.dlq_timestamp::text AS at, o.dlq_reason::text AS reason, o.original_state::text AS was, o.resolution_status::text AS decided,
       o.resolution_timestamp::text AS decided_at, o.resolved_by::text AS by, left(o.resolution_notes, 200) AS note, o.dlq_entry_uuid::text AS id
  FROM :"schema".tasks_dlq d JOIN :"schema".tasks_dlq o ON o.task_uuid = d.task_uuid
 WHERE d.dlq_entry_uuid = substr($1::text, 13)::uuid
 ORDER BY o.dlq_timestamp DESC
 LIMIT 50
