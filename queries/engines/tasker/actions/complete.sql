-- Complete a step with the operator's result, in the format in which the engine stores results. A decision or batch step
-- creates its branches only if the engine processes the result; `process` requests that through the engine's queue.

-- :refused
WITH \ir ../parts/asked_steps.sql
SELECT a.id, r.why FROM asked_steps a, LATERAL (SELECT coalesce(a.why,
  CASE WHEN a.to_state IN ('complete', 'resolved_manually') THEN 'it is already ' || a.to_state
       WHEN :args -> 'result' IS NULL THEN 'a result is required'
       WHEN a.to_state IN ('enqueued', 'in_progress', 'enqueued_for_orchestration', 'enqueued_as_error_for_orchestration')
            AND coalesce(:args ->> 'in_flight', 'false') <> 'true'
       THEN 'it is ' || a.to_state || '. Its handler may be running, and the handler''s result would be lost. Set in_flight to complete it anyway'
       WHEN :args ->> 'process' = 'true' AND :settings ->> 'queue' <> 'pgmq' THEN 'the engine''s queues are not in this database' END) AS why) r
 WHERE r.why IS NOT NULL

-- :change
WITH \ir ../parts/steps_seen.sql
, moving AS MATERIALIZED (
  SELECT s.*, 'complete' AS becomes, jsonb_build_object('type', 'CompleteManually', 'data', r.result)::text AS event, r.result
    FROM steps_seen s
   CROSS JOIN LATERAL (SELECT jsonb_build_object(
           'step_uuid', s.workflow_step_uuid, 'success', true, 'result', :args -> 'result', 'status', 'completed', 'error', NULL,
           'metadata', jsonb_build_object('execution_time_ms', 0, 'handler_version', NULL, 'retryable', false, 'completed_at', now(),
             'worker_id', NULL, 'worker_hostname', NULL, 'started_at', NULL, 'error_code', NULL, 'error_type', NULL,
             'context', '{}'::jsonb, 'custom', jsonb_build_object('manually_completed', true, 'completed_by', :operator, 'completion_reason', :reason)),
           'orchestration_metadata', jsonb_build_object('headers', '{}'::jsonb, 'error_context', NULL, 'backoff_hint', NULL, 'custom', '{}'::jsonb)) AS result) AS r
   WHERE s.to_state NOT IN ('complete', 'resolved_manually')
),
\ir ../parts/left_behind.sql
, \ir ../parts/moved.sql
UPDATE :"schema".workflow_steps s
   SET processed = true, in_process = false, processed_at = now(), results = g.result, updated_at = now()
  FROM moved m JOIN moving g ON g.workflow_step_uuid = m.workflow_step_uuid
 WHERE s.workflow_step_uuid = m.workflow_step_uuid

-- :change
WITH changed AS MATERIALIZED (
  WITH \ir ../parts/changed.sql
  SELECT c.task_uuid FROM changed c WHERE (:args ->> 'process' = 'true') IS NOT TRUE
),
\ir ../parts/continued.sql
SELECT c.moved FROM continued c

-- :change
-- The engine evaluates a task only in this state, when it processes the result.
SELECT :"schema".transition_task_state_atomic(x.task_uuid, x.to_state, 'evaluating_results', NULL, jsonb_build_object(
         'event', 'StepCompleted', 'timestamp', now(), 'operator', :operator, 'reason', :reason, 'console', 'unstick',
         'action_id', pg_current_xact_id()::text))
  FROM (SELECT DISTINCT s.task_uuid FROM :"schema".workflow_steps s WHERE s.workflow_step_uuid = ANY (:step_keys)) AS i
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

-- :change
WITH \ir ../parts/finished.sql
, \ir ../parts/changed.sql
SELECT c.id FROM changed c
