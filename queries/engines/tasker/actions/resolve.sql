-- Record a decision on a dead letter. Its task does not change.
-- $1 ids text[]: local ids
-- $2 versions text[]: version of each node that the operator saw
-- $3 operator text
-- $4 reason text
-- $5 args jsonb: status (manually_resolved, permanently_failed, cancelled), note, name
-- Indexes: tasks_dlq_pkey.

-- :lock
SELECT 'dead_letter:' || d.dlq_entry_uuid AS id, d.resolution_status || ':' || d.xmin AS version
  FROM :"schema".tasks_dlq d
 WHERE d.dlq_entry_uuid = ANY (ARRAY(SELECT substr(i, 13)::uuid FROM unnest($1::text[]) AS i))
 ORDER BY d.dlq_entry_uuid
   FOR UPDATE SKIP LOCKED

-- :refused
SELECT 'dead_letter:' || d.dlq_entry_uuid AS id,
       CASE WHEN d.resolution_status <> 'pending' THEN 'it is already resolved as ' || d.resolution_status || coalesce(' by ' || d.resolved_by, '')
            ELSE 'the status must be manually_resolved, permanently_failed or cancelled' END AS why
  FROM :"schema".tasks_dlq d
 WHERE d.dlq_entry_uuid = ANY (ARRAY(SELECT substr(i, 13)::uuid FROM unnest($1::text[]) AS i))
   AND (d.resolution_status <> 'pending'
        OR coalesce($5::jsonb ->> 'status', '') NOT IN ('manually_resolved', 'permanently_failed', 'cancelled'))

-- :rows
SELECT 'dead_letter:' || d.dlq_entry_uuid AS id, 'tasks_dlq' AS "table", d.dlq_entry_uuid::text AS key,
       to_jsonb(d) - 'task_snapshot' || jsonb_build_object('task_snapshot', octet_length(d.task_snapshot::text) || ' bytes, md5 ' || md5(d.task_snapshot::text)) AS row
  FROM :"schema".tasks_dlq d
 WHERE d.dlq_entry_uuid = ANY (ARRAY(SELECT substr(i, 13)::uuid FROM unnest($1::text[]) AS i))

-- :change
-- Only pending entries. Existing metadata is kept and extended.
WITH
\ir ../parts/seen.sql
UPDATE :"schema".tasks_dlq d
   SET resolution_status = ($5::jsonb ->> 'status'):::"schema".dlq_resolution_status, resolution_timestamp = now(),
       resolution_notes = coalesce(nullif($5::jsonb ->> 'note', ''), $4::text),
       resolved_by = left(coalesce(nullif($5::jsonb ->> 'name', ''), $3::text), 255),
       metadata = coalesce(d.metadata, '{}') || jsonb_build_object('unstick', jsonb_build_object(
         'action', 'resolve', 'operator', $3::text, 'reason', $4::text, 'action_id', pg_current_xact_id()::text)),
       updated_at = now()
  FROM seen n
 WHERE n.kind = 'dead_letter' AND d.dlq_entry_uuid = CASE WHEN n.kind = 'dead_letter' THEN substr(n.id, 13)::uuid END AND d.resolution_status = 'pending'
RETURNING n.id
