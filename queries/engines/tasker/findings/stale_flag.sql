-- Find steps whose in_process flag is set although they are not in process. The engine writes flag and state in separate
-- transactions.
WITH wanted AS (SELECT unnest(ARRAY['pending', 'waiting_for_retry']) AS to_state),
\ir ../parts/open_steps_of_tasks.sql
(SELECT 'step:' || s.workflow_step_uuid AS id, extract(epoch FROM s.at)::float8 AS since,
        jsonb_build_object('state', s.to_state, 'entered', date_trunc('second', s.at)::text, 'task', s.task_uuid) AS evidence
   FROM open_steps s
  WHERE s.task_uuid NOT IN (SELECT t.task_uuid FROM ended_tasks t)
    AND s.in_process AND greatest(s.at, s.updated_at) < now() - :flag
\ir ../parts/more.sql
