-- :rows
-- The task with its transitions; the requested step, or all steps that are open or changed in this transaction, with their
-- current and just-left transitions; and, unless a step was requested, the task's dead letters that are pending or were
-- resolved in this transaction. Several steps of a task have the task and its current and just-left transition each, so that an
-- undo takes all of these steps or none. Other transactions may add rows meanwhile; `ours` is true for rows of this transaction.
-- Large values are shown as digests.
WITH
\ir involved.sql
, own_tasks AS (
  SELECT i.*, row_number() OVER (PARTITION BY i.task_uuid ORDER BY i.kind = 'step', i.id) = 1 AS first FROM involved i
),
own_steps AS MATERIALIZED (
  SELECT DISTINCT ON (s.workflow_step_uuid) i.id, s.workflow_step_uuid
    FROM involved i JOIN :"schema".workflow_steps s ON s.task_uuid = i.task_uuid
   WHERE CASE WHEN i.kind = 'step' THEN s.workflow_step_uuid = substr(i.id, 6)::uuid
              ELSE s.processed = false OR s.updated_at = localtimestamp END
   ORDER BY s.workflow_step_uuid, i.kind = 'step' DESC, i.id
)
SELECT o.id, 'tasks' AS "table", t.task_uuid::text AS key, t.ctid::text AS place,
       to_jsonb(t) - 'context' || jsonb_build_object('context', octet_length(t.context::text) || ' bytes, md5 ' || md5(t.context::text)) AS row,
       t.xmin IS NOT DISTINCT FROM pg_current_xact_id_if_assigned()::xid AS ours
  FROM own_tasks o JOIN :"schema".tasks t ON t.task_uuid = o.task_uuid
UNION ALL
SELECT o.id, 'task_transitions', x.task_transition_uuid::text, x.ctid::text, to_jsonb(x), x.xmin IS NOT DISTINCT FROM pg_current_xact_id_if_assigned()::xid
  FROM own_tasks o JOIN :"schema".task_transitions x ON x.task_uuid = o.task_uuid AND (o.first OR x.most_recent OR x.updated_at = localtimestamp)
UNION ALL
SELECT o.id, 'workflow_steps', s.workflow_step_uuid::text, s.ctid::text,
       to_jsonb(s) - 'inputs' - 'results' || jsonb_build_object(
         'inputs', octet_length(s.inputs::text) || ' bytes, md5 ' || md5(s.inputs::text),
         'results', CASE WHEN octet_length(s.results::text) <= 4000 THEN s.results
                         ELSE to_jsonb(octet_length(s.results::text) || ' bytes, md5 ' || md5(s.results::text)) END),
       s.xmin IS NOT DISTINCT FROM pg_current_xact_id_if_assigned()::xid
  FROM own_steps o JOIN :"schema".workflow_steps s ON s.workflow_step_uuid = o.workflow_step_uuid
UNION ALL
SELECT o.id, 'workflow_step_transitions', x.workflow_step_transition_uuid::text, x.ctid::text,
       CASE WHEN octet_length(x.metadata::text) <= 4000 THEN to_jsonb(x)
            ELSE to_jsonb(x) - 'metadata' || jsonb_build_object('metadata', octet_length(x.metadata::text) || ' bytes, md5 ' || md5(x.metadata::text)) END,
       x.xmin IS NOT DISTINCT FROM pg_current_xact_id_if_assigned()::xid
  FROM own_steps o
  JOIN :"schema".workflow_step_transitions x ON x.workflow_step_uuid = o.workflow_step_uuid AND (x.most_recent OR x.updated_at = localtimestamp)
UNION ALL
SELECT o.id, 'tasks_dlq', d.dlq_entry_uuid::text, d.ctid::text,
       to_jsonb(d) - 'task_snapshot' || jsonb_build_object('task_snapshot', octet_length(d.task_snapshot::text) || ' bytes, md5 ' || md5(d.task_snapshot::text)),
       d.xmin IS NOT DISTINCT FROM pg_current_xact_id_if_assigned()::xid
  FROM own_tasks o
  JOIN :"schema".tasks_dlq d ON o.kind <> 'step' AND d.task_uuid = o.task_uuid AND (d.resolution_status = 'pending' OR d.updated_at = localtimestamp)
