-- List the root steps of a task, or the steps under a step. A root step has no parents, or is in a cycle. A step with several
-- parents is listed once, under its deepest parent.
-- kinds: task step
-- cursor: last workflow_step_uuid of the previous page, or NULL
-- Indexes: workflow_steps_pkey, idx_workflow_steps_task_covering, those on workflow_step_edges.
WITH asked AS (
  SELECT substr(:parent, 6)::uuid AS task_uuid WHERE :parent LIKE 'task:%'
  UNION ALL
  SELECT s.task_uuid FROM :"schema".workflow_steps s WHERE :parent LIKE 'step:%' AND s.workflow_step_uuid = substr(:parent, 6)::uuid
),
\ir parts/step_places.sql
SELECT 'step:' || s.step AS id, s.step::text AS cursor
  FROM step_places s
 WHERE s.parent IS NOT DISTINCT FROM CASE WHEN :parent LIKE 'step:%' THEN substr(:parent, 6)::uuid END
   AND (:cursor IS NULL OR s.step > :cursor::text::uuid)
 ORDER BY s.step
 LIMIT :limit
