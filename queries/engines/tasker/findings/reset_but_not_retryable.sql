-- Find steps that wait for a retry that never happens: the engine's own reset does not reset the attempts.
-- Indexes: those of the included parts, the tasks' state_lookup.
WITH wanted AS (SELECT unnest(ARRAY['pending', 'waiting_for_retry']) AS to_state),
\ir ../parts/open_steps_of_tasks.sql
(SELECT 'step:' || s.workflow_step_uuid AS id, extract(epoch FROM s.at)::float8 AS since,
        jsonb_build_object('attempts', s.attempts || '/' || coalesce(s.max_attempts, 3), 'state', s.to_state,
          'why', CASE WHEN NOT s.retryable THEN 'it is marked as not retryable' ELSE 'it has no attempts left' END,
          'task', s.task_uuid) AS evidence
   FROM open_steps s
  WHERE s.attempts > 0 AND (s.attempts >= coalesce(s.max_attempts, 3) OR NOT s.retryable)
    AND s.task_uuid NOT IN (SELECT t.task_uuid FROM ended_tasks t)
\ir ../parts/more.sql
