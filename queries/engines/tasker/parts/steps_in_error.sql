-- Steps in error. The engine never retries them by itself. The finding excludes those of `ended_tasks`, as with waiting_steps.sql.
wanted AS (SELECT unnest(ARRAY['error']) AS to_state),
\ir open_steps_of_tasks.sql
, nodes AS (SELECT 'step:' || s.workflow_step_uuid AS id, s.* FROM open_steps s)
