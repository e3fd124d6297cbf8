-- List the root steps of a task: steps without parents, and steps of a cycle.
-- cursor: last workflow_step_uuid of the previous page, or NULL
-- Indexes: idx_workflow_steps_task_covering, the one on workflow_step_edges(to_step_uuid).
WITH asked AS (SELECT substr(:parent, 6)::uuid AS task_uuid),
\ir parts/step_places.sql
SELECT 'step:' || s.step AS id, s.step::text AS cursor
  FROM step_places s
 WHERE s.parent IS NULL
   AND (:cursor IS NULL OR s.step > :cursor::text::uuid)
 ORDER BY s.step
 LIMIT :limit
