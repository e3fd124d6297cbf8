-- The requested entries of the dead-letter queue. Their error is what the one who resolved them noted.
-- Index: tasks_dlq_pkey.
WITH wanted AS MATERIALIZED (
  SELECT CASE WHEN substr(i, 13) ~* '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$' THEN substr(i, 13)::uuid END AS key FROM unnest(:ids) AS i
)
SELECT 'dead_letter:' || d.dlq_entry_uuid AS id, NULL::text AS parent_id, 'task:' || d.task_uuid AS job_id, 'dead_letter' AS kind,
       coalesce(d.task_snapshot ->> 'namespace', '?') || '/' || coalesce(d.task_snapshot ->> 'task_name', '?') || ' - ' || d.dlq_reason AS title,
       d.resolution_status::text AS status,
       CASE d.resolution_status WHEN 'pending' THEN 'failed' END AS phase,
       extract(epoch FROM d.dlq_timestamp)::float8 AS created_at,
       extract(epoch FROM coalesce(d.resolution_timestamp, d.dlq_timestamp))::float8 AS changed_at,
       d.resolved_by::text AS owner,
       left(d.resolution_notes, 500) AS error, d.resolution_status || ':' || d.xmin AS version, extract(epoch FROM now())::float8 AS now
  FROM :"schema".tasks_dlq d
 WHERE d.dlq_entry_uuid = ANY (ARRAY(SELECT key FROM wanted))
