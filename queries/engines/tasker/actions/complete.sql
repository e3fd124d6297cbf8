-- Complete a step with the operator's result, in the format in which the engine stores results. A decision or batch step
-- creates its branches only if the engine processes the result; `process` requests that through the engine's queue.
-- $1 ids text[]: local ids
-- $2 versions text[]: version of each node that the operator saw
-- $3 operator text
-- $4 reason text
-- $5 args jsonb: result (any JSON), in_flight, process
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
                WHEN $5::jsonb -> 'result' IS NULL THEN 'a result is required'
                WHEN x.to_state IN ('enqueued', 'in_progress', 'enqueued_for_orchestration', 'enqueued_as_error_for_orchestration')
                     AND coalesce($5::jsonb ->> 'in_flight', 'false') <> 'true'
                THEN 'it is ' || x.to_state || '. Its handler may be running, and the handler''s result would be lost. Set in_flight to complete it anyway'
                WHEN $5::jsonb ->> 'process' = 'true' AND $6::jsonb ->> 'queue' <> 'pgmq' THEN 'the engine''s queues are not in this database' END AS why
\ir ../parts/asked_steps.sql
      ) AS r
 WHERE r.why IS NOT NULL

\ir ../parts/rows.sql

\ir ../parts/rows_messages.sql

-- :change
WITH
\ir ../parts/seen.sql
, moving AS MATERIALIZED (
  SELECT s.workflow_step_uuid, s.task_uuid, x.to_state, 'complete' AS becomes,
         jsonb_build_object('type', 'CompleteManually', 'data',
\ir ../parts/result.sql
         )::text AS event
\ir ../parts/steps_seen.sql
   WHERE x.to_state NOT IN ('complete', 'resolved_manually')
)
\ir ../parts/step_transitions.sql

-- :change
WITH
\ir ../parts/involved.sql
UPDATE :"schema".workflow_steps s
   SET processed = true, in_process = false, processed_at = now(), results =
\ir ../parts/result.sql
       ,
       updated_at = now()
\ir ../parts/steps_moved.sql
   AND x.to_state = 'complete' AND x.created_at = localtimestamp

\ir ../parts/wake_task.sql

-- :change
-- The engine evaluates a task only in this state, when it processes the result.
WITH
\ir ../parts/involved.sql
SELECT :"schema".transition_task_state_atomic(x.task_uuid, x.to_state, 'evaluating_results', NULL, jsonb_build_object(
         'event', 'StepCompleted', 'timestamp', now(), 'operator', $3::text, 'reason', $4::text, 'console', 'unstick',
         'action_id', pg_current_xact_id()::text))
  FROM (SELECT DISTINCT task_uuid FROM involved) AS i
  JOIN :"schema".task_transitions x ON x.task_uuid = i.task_uuid AND x.most_recent AND x.to_state <> 'evaluating_results'
 WHERE $5::jsonb ->> 'process' = 'true'

-- :change
-- needs: pgmq
SELECT :"schema".pgmq_send_with_notify('orchestration_step_results', jsonb_build_object(
         'task_uuid', s.task_uuid, 'step_uuid', s.workflow_step_uuid, 'correlation_id', t.correlation_id))
  FROM unnest($1::text[]) AS i
  JOIN :"schema".workflow_steps s ON s.workflow_step_uuid = substr(i, 6)::uuid AND s.updated_at = localtimestamp
  JOIN :"schema".tasks t ON t.task_uuid = s.task_uuid
 WHERE $5::jsonb ->> 'process' = 'true' AND $6::jsonb ->> 'queue' = 'pgmq'

\ir ../parts/changed.sql
