-- End the claim of a dead worker, so that the step can be retried. Nothing fences the worker: if it is alive, the engine
-- rejects its late result, or takes it for the new attempt's result if another worker has claimed the step by then.
-- $1 ids text[]: local ids
-- $2 versions text[]: version of each node that the operator saw
-- $3 operator text
-- $4 reason text
-- $5 args jsonb: again (also a step marked as not retryable)
-- $6 settings jsonb
-- Indexes: tasks_pkey, workflow_steps_pkey, idx_workflow_steps_task_covering, idx_dlq_task, the unique indexes on current
-- transitions.

\ir ../parts/lock.sql

-- :refused
SELECT r.id, r.why
  FROM (
    SELECT i AS id,
           CASE
\ir ../parts/step_refusals.sql
                WHEN x.to_state <> 'in_progress' THEN 'it is ' || x.to_state || ', so no worker has claimed it'
                WHEN NOT s.retryable AND coalesce($5::jsonb ->> 'again', 'false') <> 'true'
                THEN 'it is marked as not retryable. Set again to run it anyway' END AS why
\ir ../parts/asked_steps.sql
      ) AS r
 WHERE r.why IS NOT NULL

\ir ../parts/rows.sql

-- :change
WITH
\ir ../parts/seen.sql
, moving AS MATERIALIZED (
  SELECT s.workflow_step_uuid, s.task_uuid, x.to_state, 'waiting_for_retry' AS becomes,
         '{"type":"WaitForRetry"}' AS event
\ir ../parts/steps_seen.sql
   WHERE x.to_state = 'in_progress'
)
\ir ../parts/step_transitions.sql

-- :change
WITH
\ir ../parts/involved.sql
UPDATE :"schema".workflow_steps s
   SET in_process = false, backoff_request_seconds = 0, last_attempted_at = least(coalesce(s.last_attempted_at, localtimestamp), localtimestamp),
       max_attempts = greatest(coalesce(s.max_attempts, 3), coalesce(s.attempts, 0) + 1),
       retryable = true,
       updated_at = now()
\ir ../parts/steps_moved.sql
   AND x.to_state = 'waiting_for_retry' AND x.created_at = localtimestamp

\ir ../parts/wake_task.sql

\ir ../parts/changed.sql
