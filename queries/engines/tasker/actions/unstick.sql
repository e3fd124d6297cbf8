-- Move a task that an orchestrator abandoned to a state that the poller finds, or to its end.
-- $1 ids text[]: local ids
-- $2 versions text[]: version of each node that the operator saw
-- $3 operator text
-- $4 reason text
-- $6 settings jsonb
-- Indexes: tasks_pkey, workflow_steps_pkey, idx_workflow_steps_task_covering, idx_dlq_task, the unique indexes on current
-- transitions.

\ir ../parts/lock.sql

-- :refused
SELECT r.id, r.why
  FROM (
    SELECT i AS id,
           CASE
\ir ../parts/task_refusals.sql
                WHEN x.to_state NOT IN ('initializing', 'enqueuing_steps', 'evaluating_results', 'steps_in_process')
                THEN 'it is ' || x.to_state || ', so no orchestrator abandoned it'
                WHEN k.total_steps = 0 THEN 'it has no steps yet, and only the engine can create them'
                WHEN x.created_at > now() - make_interval(secs => ($6::jsonb ->> 'unstick_after')::float8)
                THEN 'it entered this state only ' || round(extract(epoch FROM now() - x.created_at)) || ' s ago. An orchestrator may be working on it'
                WHEN x.to_state IN ('steps_in_process', 'evaluating_results') AND k.in_progress_steps + k.enqueued_steps > 0
                THEN (k.in_progress_steps + k.enqueued_steps) || ' of its steps are in flight. The next result continues it' END AS why
\ir ../parts/asked_tasks.sql
      LEFT JOIN LATERAL :"schema".get_task_execution_context(t.task_uuid) k ON true) AS r
 WHERE r.why IS NOT NULL

\ir ../parts/rows.sql

-- :change
WITH
\ir ../parts/seen.sql
SELECT :"schema".transition_task_state_atomic(n.task_uuid, x.to_state, (CASE k.execution_status WHEN 'all_complete' THEN 'complete' WHEN 'blocked_by_failures' THEN 'blocked_by_failures'
              WHEN 'processing' THEN 'steps_in_process' ELSE 'waiting_for_dependencies' END)::varchar, NULL, jsonb_build_object(
         'event', CASE k.execution_status WHEN 'all_complete' THEN 'AllStepsSuccessful' WHEN 'blocked_by_failures' THEN 'PermanentFailure'
              WHEN 'processing' THEN 'StepsEnqueued' ELSE 'NoDependenciesReady' END, 'timestamp', now(), 'operator', $3::text, 'reason', $4::text, 'console', 'unstick',
         'action_id', pg_current_xact_id()::text))
  FROM seen n
  JOIN :"schema".task_transitions x ON x.task_uuid = n.task_uuid AND x.most_recent
 CROSS JOIN LATERAL :"schema".get_task_execution_context(n.task_uuid) AS k
 WHERE x.to_state IN ('initializing', 'enqueuing_steps')
    OR x.to_state IN ('evaluating_results', 'steps_in_process') AND k.in_progress_steps + k.enqueued_steps = 0

\ir ../parts/finished.sql

\ir ../parts/changed.sql
