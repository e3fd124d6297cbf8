-- Find steps that wait for a retry that never happens: the engine's own reset does not reset the attempts.
-- kinds: step
-- $1 ids text[]: restrict to these local ids; NULL for all
-- $3 page int: maximum number of rows
-- $4 met_needs text[]
-- Indexes: those of the included parts, the tasks' state_lookup.
WITH wanted AS (SELECT unnest(ARRAY['pending', 'waiting_for_retry']) AS to_state),
\ir ../parts/open_steps.sql
,
\ir ../parts/ended_tasks.sql
(SELECT 'step:' || s.workflow_step_uuid AS id, extract(epoch FROM s.at)::float8 AS since,
        jsonb_build_object('attempts', s.attempts || '/' || coalesce(s.max_attempts, 3), 'state', s.to_state,
          'why', CASE WHEN NOT s.retryable THEN 'it is marked as not retryable' ELSE 'it has no attempts left' END,
          'task', s.task_uuid) AS evidence
   FROM open_steps s
  WHERE s.attempts > 0 AND (s.attempts >= coalesce(s.max_attempts, 3) OR NOT s.retryable)
    AND s.task_uuid NOT IN (SELECT t.task_uuid FROM ended_tasks t)
  ORDER BY s.at, s.workflow_step_uuid
  LIMIT $3::int)
UNION ALL
SELECT NULL, NULL, NULL FROM more
