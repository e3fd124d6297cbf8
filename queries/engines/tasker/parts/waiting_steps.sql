-- Steps that wait for a worker to take them. The finding excludes those of `ended_tasks` after its own conditions: the
-- tasks are read only for the steps that are left.
wanted AS (SELECT unnest(ARRAY['pending', 'waiting_for_retry']) AS to_state),
\ir open_steps.sql
, \ir ended_tasks.sql
, nodes AS (SELECT 'step:' || s.workflow_step_uuid AS id, s.* FROM open_steps s),
more AS (SELECT EXISTS (SELECT FROM open_steps s WHERE s.workflow_step_uuid IS NULL) AS more)
