-- The task with its transitions; the requested step, or all steps that are open or changed in this transaction, with their
-- current and just-left transitions; and, unless a step was requested, the task's dead letters that are pending or were
-- resolved in this transaction. Several steps of a task have the task and its current and just-left transition each, so that an
-- undo takes all of these steps or none.
WITH
\ir involved.sql
, own_tasks AS (
  SELECT i.*, row_number() OVER (PARTITION BY i.task_uuid ORDER BY i.kind = 'step', i.id) = 1 AS first FROM involved i
),
own_steps AS MATERIALIZED (
  SELECT DISTINCT ON (s.workflow_step_uuid) i.id, s.workflow_step_uuid, s.task_uuid
    FROM involved i JOIN :"schema".workflow_steps s ON s.task_uuid = i.task_uuid
   WHERE CASE WHEN i.kind = 'step' THEN s.workflow_step_uuid = substr(i.id, 6)::uuid
              ELSE s.processed = false OR s.updated_at = localtimestamp END
   ORDER BY s.workflow_step_uuid, i.kind = 'step' DESC, i.id
),
own_rows AS (
  SELECT o.id, t.tableoid AS relation, t.ctid::text AS place
    FROM own_tasks o JOIN :"schema".tasks t ON t.task_uuid = o.task_uuid
  UNION ALL
  SELECT o.id, x.tableoid, x.ctid::text
    FROM own_tasks o JOIN :"schema".task_transitions x ON x.task_uuid = o.task_uuid AND (o.first OR x.most_recent OR x.updated_at = localtimestamp)
  UNION ALL
  SELECT o.id, s.tableoid, s.ctid::text
    FROM own_steps o JOIN :"schema".workflow_steps s ON s.workflow_step_uuid = o.workflow_step_uuid
  UNION ALL
  SELECT o.id, x.tableoid, x.ctid::text
    FROM own_steps o
    JOIN :"schema".workflow_step_transitions x ON x.workflow_step_uuid = o.workflow_step_uuid AND (x.most_recent OR x.updated_at = localtimestamp)
  UNION ALL
  SELECT o.id, d.tableoid, d.ctid::text
    FROM own_tasks o
    JOIN :"schema".tasks_dlq d ON o.kind <> 'step' AND d.task_uuid = o.task_uuid AND (d.resolution_status = 'pending' OR d.updated_at = localtimestamp)
)
