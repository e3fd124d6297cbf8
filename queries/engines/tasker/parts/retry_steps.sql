-- :change
-- Failed steps back to pending. The engine's own event for this leaves the attempts as they are; the next part does not.
WITH
\ir seen.sql
, moving AS MATERIALIZED (
  SELECT s.workflow_step_uuid, s.task_uuid, x.to_state, 'pending' AS becomes,
         '{"type":"ResetForRetry"}' AS event
    FROM seen n
    JOIN :"schema".workflow_steps s ON s.task_uuid = n.task_uuid AND (n.step IS NULL OR s.workflow_step_uuid = n.step)
   CROSS JOIN LATERAL (
\ir step_state.sql
         ) AS x
   WHERE x.to_state = 'error'
)
\ir step_transitions.sql

-- :change
-- A new budget for those, and for steps that were reset before and have none. A step that counts no attempt is always
-- taken; one that shall keep its count needs room above it, and leave to be tried again.
WITH
\ir involved.sql
UPDATE :"schema".workflow_steps s
   SET attempts = CASE WHEN $5::jsonb ->> 'budget' = 'one more' THEN s.attempts ELSE 0 END,
       max_attempts = CASE WHEN $5::jsonb ->> 'budget' = 'one more'
                           THEN greatest(coalesce(s.max_attempts, 3), coalesce(s.attempts, 0) + 1) ELSE s.max_attempts END,
       retryable = s.retryable OR coalesce($5::jsonb ->> 'budget', '') = 'one more',
       in_process = false, processed = false, processed_at = NULL,
       backoff_request_seconds = CASE WHEN s.last_attempted_at IS NOT NULL THEN 0 END,
       last_attempted_at = least(s.last_attempted_at, localtimestamp),
       checkpoint = CASE WHEN $5::jsonb ->> 'checkpoint' = 'clear' THEN NULL ELSE s.checkpoint END,
       updated_at = now()
  FROM involved i, :"schema".workflow_step_transitions x
 WHERE s.task_uuid = i.task_uuid AND (i.kind <> 'step' OR s.workflow_step_uuid = CASE WHEN i.kind = 'step' THEN substr(i.id, 6)::uuid END)
   AND x.workflow_step_uuid = s.workflow_step_uuid AND x.most_recent
   AND ((x.to_state = 'pending' AND x.created_at = localtimestamp)
        OR (x.to_state IN ('pending', 'waiting_for_retry') AND s.processed = false
            AND s.attempts > 0 AND (s.attempts >= coalesce(s.max_attempts, 3) OR NOT s.retryable)))
