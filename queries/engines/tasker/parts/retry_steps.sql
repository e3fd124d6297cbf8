-- Set failed steps to pending. The engine's own event does not reset the attempts; the next statement does.
\set state pending
\set event ResetForRetry
\ir change_moving.sql
   WHERE x.to_state = 'error'
)
\ir step_transitions.sql

-- :change
-- Give new attempts to these steps, and to steps that were reset before and have none left. The engine always takes a step
-- with zero attempts. A step that keeps its count needs a higher limit and retryable = true.
WITH
\ir involved.sql
,
\ir seen.sql
UPDATE :"schema".workflow_steps s
   SET attempts = CASE WHEN :args ->> 'budget' = 'one more' THEN s.attempts ELSE 0 END,
       max_attempts = CASE WHEN :args ->> 'budget' = 'one more'
                           THEN greatest(coalesce(s.max_attempts, 3), coalesce(s.attempts, 0) + 1) ELSE s.max_attempts END,
       retryable = s.retryable OR coalesce(:args ->> 'budget', '') = 'one more',
       in_process = false, processed = false, processed_at = NULL,
       backoff_request_seconds = CASE WHEN s.last_attempted_at IS NOT NULL THEN 0 END,
       last_attempted_at = least(s.last_attempted_at, localtimestamp),
       checkpoint = CASE WHEN :args ->> 'checkpoint' = 'clear' THEN NULL ELSE s.checkpoint END,
       updated_at = now()
\ir steps_moved.sql
  
   AND ((x.to_state = 'pending' AND x.created_at = localtimestamp)
        OR (x.to_state IN ('pending', 'waiting_for_retry') AND s.processed = false
            AND s.attempts > 0 AND (s.attempts >= coalesce(s.max_attempts, 3) OR NOT s.retryable)
            AND EXISTS (SELECT FROM seen n WHERE n.task_uuid = s.task_uuid AND (n.step IS NULL OR n.step = s.workflow_step_uuid))))
