-- List the steps under a step. A step with several parents is listed once, under its deepest parent.
-- cursor: last workflow_step_uuid of the previous page, or NULL
-- Indexes: idx_workflow_steps_task_covering, those on workflow_step_edges.
WITH asked AS (SELECT s.task_uuid FROM :"schema".workflow_steps s WHERE s.workflow_step_uuid = substr(:parent, 6)::uuid),
\ir parts/step_places.sql
SELECT 'step:' || u.step AS id, u.step::text AS cursor
  FROM step_places u
 WHERE u.parent = substr(:parent, 6)::uuid
   AND (:cursor IS NULL OR u.step > :cursor::text::uuid)
 ORDER BY u.step
 LIMIT :limit
