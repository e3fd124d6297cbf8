-- Steps in error, which the engine never retries by itself. The finding excludes those of `ended_tasks`, as with
-- waiting_steps.sql.
wanted AS (SELECT unnest(ARRAY['error']) AS to_state),
\ir open_steps.sql
, \ir ended_tasks.sql
, nodes AS (SELECT 'step:' || s.workflow_step_uuid AS id, s.* FROM open_steps s),
more AS (SELECT EXISTS (SELECT FROM open_steps s WHERE s.workflow_step_uuid IS NULL) AS more)
