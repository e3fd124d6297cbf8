-- Mark a step as resolved manually without running it. Steps that depend on it continue and get its current results:
-- after a failure, those of the failed attempt.
-- $1 ids text[]: local ids
-- $2 versions text[]: version of each node that the operator saw
-- $3 operator text
-- $4 reason text
-- $5 args jsonb: in_flight (also a step that a worker may be running)
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
                WHEN x.to_state IN ('complete', 'resolved_manually') THEN 'it is already ' || x.to_state
                WHEN x.to_state = 'cancelled' AND NOT EXISTS (SELECT FROM :"schema".workflow_step_edges e WHERE e.from_step_uuid = s.workflow_step_uuid)
                THEN 'it is cancelled and no step depends on it'
                WHEN x.to_state IN ('enqueued', 'in_progress', 'enqueued_for_orchestration', 'enqueued_as_error_for_orchestration')
                     AND coalesce($5::jsonb ->> 'in_flight', 'false') <> 'true'
                THEN 'it is ' || x.to_state || '. Its handler may be running, and the handler''s result would be lost. Set in_flight to skip it anyway' END AS why
\ir ../parts/asked_steps.sql
      ) AS r
 WHERE r.why IS NOT NULL

\ir ../parts/rows.sql

-- :change
WITH
\ir ../parts/seen.sql
, moving AS MATERIALIZED (
  SELECT s.workflow_step_uuid, s.task_uuid, x.to_state, 'resolved_manually' AS becomes,
         '{"type":"ResolveManually"}' AS event
\ir ../parts/steps_seen.sql
   WHERE x.to_state NOT IN ('complete', 'resolved_manually')
)
\ir ../parts/step_transitions.sql

-- :change
WITH
\ir ../parts/involved.sql
UPDATE :"schema".workflow_steps s
   SET processed = true, in_process = false, processed_at = now(),
       updated_at = now()
\ir ../parts/steps_moved.sql
   AND x.to_state = 'resolved_manually' AND x.created_at = localtimestamp

\ir ../parts/wake_task.sql

\ir ../parts/changed.sql
