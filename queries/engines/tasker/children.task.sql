-- List the root steps of a task: steps without parents, and steps of a cycle.
-- kinds: task
-- $1 parent text: local id of the task
-- $2 cursor text: last workflow_step_uuid of the previous page, or NULL
-- $3 page int: maximum number of rows
-- Indexes: idx_workflow_steps_task_covering, the one on workflow_step_edges(to_step_uuid).
WITH RECURSIVE asked AS (SELECT substr($1::text, 6)::uuid AS task_uuid),
\ir parts/levels.sql
SELECT 'step:' || s.step AS id, s.step::text AS cursor
  FROM steps s
 WHERE NOT EXISTS (SELECT FROM under u WHERE u.step = s.step)
   AND ($2::text IS NULL OR s.step > $2::text::uuid)
 ORDER BY s.step
 LIMIT $3::int
