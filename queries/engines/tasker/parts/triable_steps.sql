-- The steps of `step_parents` that the engine enqueues, at once or after their backoff. Their parents are done in
-- `known_steps`. Index: workflow_steps_pkey. Read rows of steps only for steps that may run.
triable_steps AS MATERIALIZED (
  SELECT s.workflow_step_uuid, s.task_uuid, s.created_at, s.updated_at, s.backoff_request_seconds, s.last_attempted_at,
         s.attempts
    FROM :"schema".workflow_steps s
   WHERE s.workflow_step_uuid = ANY (ARRAY(
           SELECT p.step FROM step_parents p
            WHERE p.step NOT IN (
                  SELECT u.step FROM step_parents u
                   WHERE u.parent IS NOT NULL AND u.parent NOT IN (SELECT k.step FROM known_steps k WHERE k.done))))
     AND (coalesce(s.attempts, 0) = 0 OR s.retryable IS NOT FALSE AND s.attempts < coalesce(s.max_attempts, 3))
)
