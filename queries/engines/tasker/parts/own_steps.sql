-- The steps of the nodes of parts/involved.sql that an action may change: the requested step, or all steps that are
-- open or changed in this transaction.
own_steps AS MATERIALIZED (
  SELECT DISTINCT ON (s.workflow_step_uuid) i.id, s.workflow_step_uuid, s.task_uuid
    FROM involved i JOIN :"schema".workflow_steps s ON s.task_uuid = i.task_uuid
   WHERE CASE WHEN i.kind = 'step' THEN s.workflow_step_uuid = substr(i.id, 6)::uuid
              ELSE s.processed = false OR s.updated_at = localtimestamp END
   ORDER BY s.workflow_step_uuid, i.kind = 'step' DESC, i.id
)
