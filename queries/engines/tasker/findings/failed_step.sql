-- Find steps in error. The engine never retries them by itself.
-- Indexes: those of the included parts, the tasks' state_lookup.
WITH wanted AS (SELECT unnest(ARRAY['error']) AS to_state),
\ir ../parts/open_steps_of_tasks.sql
(SELECT 'step:' || s.workflow_step_uuid AS id, extract(epoch FROM s.at)::float8 AS since,
        jsonb_build_object('attempts', coalesce(s.attempts, 0) || '/' || coalesce(s.max_attempts, 3),
          'why', CASE WHEN NOT s.retryable THEN 'it is marked as not retryable'
                      WHEN coalesce(s.attempts, 0) >= coalesce(s.max_attempts, 3) THEN 'it has no attempts left'
                      ELSE 'its error was treated as final' END,
          'message', coalesce(left(s.results #>> '{error,message}', 300), 'no message'),
          'error_type', coalesce(s.results #>> '{error,error_type}', 'not recorded'), 'failed', date_trunc('second', s.at)::text,
          'task', s.task_uuid) AS evidence
   FROM open_steps s
  WHERE s.at < now() - :blocked
    AND s.task_uuid NOT IN (SELECT t.task_uuid FROM ended_tasks t)
\ir ../parts/more.sql
