-- Give new attempts to the steps of `retrying(workflow_step_uuid, to_state)` that parts/moved.sql has moved, because
-- the engine's own event does not reset them; and to those that were reset before and have none left. The engine always
-- takes a step with zero attempts. A step that keeps its count needs a higher limit and retryable = true.
retried AS (
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
    FROM retrying r
   WHERE s.workflow_step_uuid = r.workflow_step_uuid
     AND (s.workflow_step_uuid IN (SELECT m.workflow_step_uuid FROM moved m)
          OR r.to_state IN ('pending', 'waiting_for_retry') AND s.processed = false
             AND s.attempts > 0 AND (s.attempts >= coalesce(s.max_attempts, 3) OR NOT s.retryable))
  RETURNING s.workflow_step_uuid
)
