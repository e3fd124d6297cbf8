-- Complete a step with the operator's result, in the format in which the engine stores results. A decision or batch step
-- creates its branches only if the engine processes the result; `process` requests that through the engine's queue.

\ir ../parts/step_refusals.sql
                WHEN x.to_state IN ('complete', 'resolved_manually') THEN 'it is already ' || x.to_state
                WHEN :args -> 'result' IS NULL THEN 'a result is required'
                WHEN x.to_state IN ('enqueued', 'in_progress', 'enqueued_for_orchestration', 'enqueued_as_error_for_orchestration')
                     AND coalesce(:args ->> 'in_flight', 'false') <> 'true'
                THEN 'it is ' || x.to_state || '. Its handler may be running, and the handler''s result would be lost. Set in_flight to complete it anyway'
                WHEN :args ->> 'process' = 'true' AND :settings ->> 'queue' <> 'pgmq' THEN 'the engine''s queues are not in this database' END AS why
\ir ../parts/refused_steps.sql

\ir ../parts/change_seen.sql
, moving AS MATERIALIZED (
  SELECT s.workflow_step_uuid, s.task_uuid, x.to_state, 'complete' AS becomes,
         jsonb_build_object('type', 'CompleteManually', 'data',
\ir ../parts/result.sql
         )::text AS event
\ir ../parts/steps_seen.sql
   WHERE x.to_state NOT IN ('complete', 'resolved_manually')
)
\ir ../parts/step_transitions.sql

\ir ../parts/change_involved.sql
UPDATE :"schema".workflow_steps s
   SET processed = true, in_process = false, processed_at = now(), results =
\ir ../parts/result.sql
       ,
       updated_at = now()
\ir ../parts/steps_moved.sql
   AND x.to_state = 'complete' AND x.created_at = localtimestamp

\ir ../parts/wake_task.sql
   AND (:args ->> 'process' = 'true') IS NOT TRUE

\ir ../parts/finished.sql

-- :change
-- The engine evaluates a task only in this state, when it processes the result.
WITH
\ir ../parts/involved.sql
SELECT :"schema".transition_task_state_atomic(x.task_uuid, x.to_state, 'evaluating_results', NULL, jsonb_build_object(
         'event', 'StepCompleted', 'timestamp', now(), 'operator', :operator, 'reason', :reason, 'console', 'unstick',
         'action_id', pg_current_xact_id()::text))
  FROM (SELECT DISTINCT task_uuid FROM involved) AS i
  JOIN :"schema".task_transitions x ON x.task_uuid = i.task_uuid AND x.most_recent AND x.to_state <> 'evaluating_results'
 WHERE :args ->> 'process' = 'true'

-- :change
-- needs: pgmq
SELECT :"schema".pgmq_send_with_notify('orchestration_step_results', jsonb_build_object(
         'task_uuid', s.task_uuid, 'step_uuid', s.workflow_step_uuid, 'correlation_id', t.correlation_id))
  FROM unnest(:ids) AS i
  JOIN :"schema".workflow_steps s ON s.workflow_step_uuid = substr(i, 6)::uuid AND s.updated_at = localtimestamp
  JOIN :"schema".tasks t ON t.task_uuid = s.task_uuid
 WHERE :args ->> 'process' = 'true' AND :settings ->> 'queue' = 'pgmq'

\ir ../parts/changed.sql
