-- A step is complete with a result given by the operator, in the form the engine stores results in. A decision or batch
-- step makes its branches only when the engine processes the result: that is asked of it through its queue.
-- $1 ids text[]: local ids
-- $2 versions text[]: version of each node that the operator saw
-- $3 operator text: who
-- $4 reason text: why
-- $5 args jsonb: result (any JSON), in_flight, process
-- $6 limits jsonb
-- Indexes: tasks_pkey, workflow_steps_pkey, idx_workflow_steps_task_covering, the unique ones on current transitions, idx_dlq_task.

\ir ../parts/lock.sql

-- :refused
SELECT r.id, r.why
  FROM (
    SELECT i AS id,
           CASE WHEN x.to_state IS NULL THEN 'none of its transitions is the current one: mend that by hand first'
                WHEN y.to_state IS NULL THEN 'none of its task''s transitions is the current one: mend that by hand first'
                WHEN y.to_state IN ('complete', 'cancelled', 'resolved_manually') THEN 'its task is ' || y.to_state || ': nothing of it runs any more'
                WHEN x.to_state IN ('complete', 'resolved_manually') THEN 'it is ' || x.to_state || ' already'
                WHEN $5::jsonb -> 'result' IS NULL THEN 'a result is needed'
                WHEN x.to_state IN ('enqueued', 'in_progress', 'enqueued_for_orchestration', 'enqueued_as_error_for_orchestration')
                     AND coalesce($5::jsonb ->> 'in_flight', 'false') <> 'true'
                THEN 'it is ' || x.to_state || ': its handler may be running, and its result would be lost. Say so (in_flight) to complete it all the same'
                WHEN $5::jsonb ->> 'process' = 'true' AND $6::jsonb ->> 'queue' <> 'pgmq' THEN 'the engine''s queues are not in this database' END AS why
      FROM unnest($1::text[]) AS i
      JOIN :"schema".workflow_steps s ON s.workflow_step_uuid = substr(i, 6)::uuid
     CROSS JOIN LATERAL (
\ir ../parts/step_state.sql
     ) AS x
      LEFT JOIN :"schema".task_transitions y ON y.task_uuid = s.task_uuid AND y.most_recent) AS r
 WHERE r.why IS NOT NULL

\ir ../parts/rows.sql

\ir ../parts/rows_messages.sql

-- :change
WITH
\ir ../parts/seen.sql
, moving AS MATERIALIZED (
  SELECT s.workflow_step_uuid, s.task_uuid, x.to_state, 'complete' AS becomes,
         jsonb_build_object('type', 'CompleteManually', 'data', jsonb_build_object(
         'step_uuid', s.workflow_step_uuid, 'success', true, 'result', $5::jsonb -> 'result', 'status', 'completed', 'error', NULL,
         'metadata', jsonb_build_object('execution_time_ms', 0, 'handler_version', NULL, 'retryable', false, 'completed_at', now(),
           'worker_id', NULL, 'worker_hostname', NULL, 'started_at', NULL, 'error_code', NULL, 'error_type', NULL,
           'context', '{}'::jsonb, 'custom', jsonb_build_object('manually_completed', true, 'completed_by', $3::text, 'completion_reason', $4::text)),
         'orchestration_metadata', jsonb_build_object('headers', '{}'::jsonb, 'error_context', NULL, 'backoff_hint', NULL, 'custom', '{}'::jsonb)))::text AS event
    FROM seen n
    JOIN :"schema".workflow_steps s ON s.task_uuid = n.task_uuid AND (n.step IS NULL OR s.workflow_step_uuid = n.step)
   CROSS JOIN LATERAL (
\ir ../parts/step_state.sql
         ) AS x
   WHERE x.to_state NOT IN ('complete', 'resolved_manually')
)
\ir ../parts/step_transitions.sql

-- :change
WITH
\ir ../parts/involved.sql
UPDATE :"schema".workflow_steps s
   SET processed = true, in_process = false, processed_at = now(), results = jsonb_build_object(
         'step_uuid', s.workflow_step_uuid, 'success', true, 'result', $5::jsonb -> 'result', 'status', 'completed', 'error', NULL,
         'metadata', jsonb_build_object('execution_time_ms', 0, 'handler_version', NULL, 'retryable', false, 'completed_at', now(),
           'worker_id', NULL, 'worker_hostname', NULL, 'started_at', NULL, 'error_code', NULL, 'error_type', NULL,
           'context', '{}'::jsonb, 'custom', jsonb_build_object('manually_completed', true, 'completed_by', $3::text, 'completion_reason', $4::text)),
         'orchestration_metadata', jsonb_build_object('headers', '{}'::jsonb, 'error_context', NULL, 'backoff_hint', NULL, 'custom', '{}'::jsonb)),
       updated_at = now()
  FROM involved i, :"schema".workflow_step_transitions x
 WHERE s.task_uuid = i.task_uuid AND (i.kind <> 'step' OR s.workflow_step_uuid = CASE WHEN i.kind = 'step' THEN substr(i.id, 6)::uuid END)
   AND x.workflow_step_uuid = s.workflow_step_uuid AND x.most_recent AND x.to_state = 'complete' AND x.created_at = localtimestamp

\ir ../parts/wake_task.sql

-- :change
-- The engine evaluates the task once it processes the result, and does so in this state alone.
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
