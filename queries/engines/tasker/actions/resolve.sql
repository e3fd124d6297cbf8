-- Record a decision on a dead letter. Its task does not change.
-- Indexes: tasks_dlq_pkey.

-- :lock
SELECT 'dead_letter:' || d.dlq_entry_uuid AS id, d.xmin::text AS version
  FROM :"schema".tasks_dlq d
 WHERE d.dlq_entry_uuid = ANY (:dead_letter_keys)
 ORDER BY d.dlq_entry_uuid
   FOR UPDATE SKIP LOCKED

-- :refused
SELECT 'dead_letter:' || d.dlq_entry_uuid AS id,
       CASE WHEN d.resolution_status <> 'pending' THEN 'it is already resolved as ' || d.resolution_status || coalesce(' by ' || d.resolved_by, '')
            ELSE 'the status must be manually_resolved, permanently_failed or cancelled' END AS why
  FROM :"schema".tasks_dlq d
 WHERE d.dlq_entry_uuid = ANY (:dead_letter_keys)
   AND (d.resolution_status <> 'pending'
        OR coalesce(:args ->> 'status', '') NOT IN ('manually_resolved', 'permanently_failed', 'cancelled'))

-- :change
-- Only pending entries. Existing metadata is kept and extended.
WITH \ir ../parts/seen.sql
UPDATE :"schema".tasks_dlq d
   SET resolution_status = (:args ->> 'status'):::"schema".dlq_resolution_status, resolution_timestamp = now(),
       resolution_notes = coalesce(nullif(:args ->> 'note', ''), :reason),
       resolved_by = left(coalesce(nullif(:args ->> 'name', ''), :operator), 255),
       metadata = coalesce(d.metadata, '{}') || jsonb_build_object('unstick', jsonb_build_object(
         'action', 'resolve', 'operator', :operator, 'reason', :reason, 'action_id', pg_current_xact_id()::text)),
       updated_at = now()
  FROM seen n
 WHERE n.kind = 'dead_letter' AND d.dlq_entry_uuid = CASE WHEN n.kind = 'dead_letter' THEN substr(n.id, 13)::uuid END AND d.resolution_status = 'pending'
RETURNING n.id
