-- List the steps under a step. A step with several parents is listed once, under its deepest parent.
-- kinds: step
-- $1 parent text: local id of the step
-- $2 cursor text: last workflow_step_uuid of the previous page, or NULL
-- $3 page int: maximum number of rows
-- Indexes: idx_workflow_steps_task_covering, those on workflow_step_edges.
WITH RECURSIVE asked AS (SELECT s.task_uuid FROM :"schema".workflow_steps s WHERE s.workflow_step_uuid = substr($1::text, 6)::uuid),
\ir parts/levels.sql
SELECT 'step:' || u.step AS id, u.step::text AS cursor
  FROM under u
 WHERE u.parent = substr($1::text, 6)::uuid
   AND ($2::text IS NULL OR u.step > $2::text::uuid)
 ORDER BY u.step
 LIMIT $3::int
