-- The rows of the nodes of parts/involved.sql that an action may change: the task with its transitions; the steps of
-- parts/own_steps.sql with their current and just-left transitions; and, unless a step was requested, the dead letters
-- of the task that are pending or were resolved in this transaction. Several steps of a task have the task and its
-- current and just-left transition each, so that an undo takes all of these steps or none.
own_rows AS (
  WITH own_tasks AS (
    SELECT i.*, row_number() OVER (PARTITION BY i.task_uuid ORDER BY i.kind = 'step', i.id) = 1 AS first FROM involved i
  )
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
