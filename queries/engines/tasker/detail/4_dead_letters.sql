-- title: Dead letters
-- kinds: task
-- $1 id text: local id
-- Index: idx_dlq_task.
SELECT d.dlq_timestamp::text AS at, d.dlq_reason::text AS reason, d.original_state::text AS was, d.resolution_status::text AS decided,
       d.resolution_timestamp::text AS decided_at, d.resolved_by::text AS by, left(d.resolution_notes, 200) AS note, d.dlq_entry_uuid::text AS id
  FROM :"schema".tasks_dlq d
 WHERE d.task_uuid = substr($1::text, 6)::uuid
 ORDER BY d.dlq_timestamp DESC
 LIMIT 50
