-- title: State then and now
-- kinds: dead_letter
-- Indexes: tasks_dlq_pkey, idx_task_transitions_state_lookup.
SELECT d.dlq_reason::text AS reason, d.original_state::text AS was, coalesce(x.to_state, 'no current state')::text AS is_now, x.created_at::text AS since,
       d.dlq_timestamp::text AS died, d.resolution_status::text AS decided, d.resolution_timestamp::text AS decided_at, d.resolved_by::text AS by,
       left(d.resolution_notes, 500) AS note, left(d.metadata::text, 500) AS metadata, d.task_uuid::text AS task
  FROM :"schema".tasks_dlq d LEFT JOIN :"schema".task_transitions x ON x.task_uuid = d.task_uuid AND x.most_recent
 WHERE d.dlq_entry_uuid = substr(:id, 13)::uuid
