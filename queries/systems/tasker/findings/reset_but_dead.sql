-- Steps that are to be tried again but never will: the engine's own reset leaves the attempts as they are.
-- $1 ids text[]: only for these local ids, or NULL
-- $3 page int: how many at most
-- Indexes: those of the included part.
WITH
\ir ../parts/open_steps.sql
SELECT 'step:' || s.workflow_step_uuid AS id, extract(epoch FROM x.created_at)::float8 AS since,
       jsonb_build_object('attempts', s.attempts || '/' || coalesce(s.max_attempts, 3), 'state', o.to_state,
         'why', CASE WHEN NOT s.retryable THEN 'it is marked as not retryable' ELSE 'its attempts are used up' END) AS evidence
  FROM open_steps o
  JOIN workflow_steps s ON s.workflow_step_uuid = o.workflow_step_uuid
  JOIN workflow_step_transitions x ON x.workflow_step_uuid = s.workflow_step_uuid AND x.most_recent
  LEFT JOIN task_transitions t ON t.task_uuid = s.task_uuid AND t.most_recent
 WHERE o.to_state IN ('pending', 'waiting_for_retry')
   AND s.attempts > 0 AND (s.attempts >= coalesce(s.max_attempts, 3) OR NOT s.retryable)
   AND coalesce(t.to_state, 'pending') NOT IN ('complete', 'cancelled', 'resolved_manually')
 ORDER BY x.created_at, s.workflow_step_uuid
 LIMIT $3::int
