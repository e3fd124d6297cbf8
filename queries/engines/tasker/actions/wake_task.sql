-- Restart the 60 minutes in which the poller finds a waiting task, and remove the backoffs of its steps.

\ir ../parts/task_refusals.sql
                WHEN x.to_state NOT IN ('waiting_for_dependencies', 'waiting_for_retry', 'blocked_by_failures') THEN 'it is ' || x.to_state || ', so it does not wait'
                WHEN k.execution_status = 'blocked_by_failures' THEN k.failed_steps || ' of its steps permanently failed. Retry or skip them'
                WHEN k.execution_status = 'all_complete' THEN 'all its steps are done, so the poller does not find it. Finalize it' END AS why
\ir ../parts/refused_in_context.sql

\ir ../parts/change_seen.sql
UPDATE :"schema".workflow_steps s
   SET backoff_request_seconds = 0, last_attempted_at = least(s.last_attempted_at, localtimestamp), updated_at = now()
  FROM seen n, :"schema".workflow_step_transitions x
 WHERE s.task_uuid = n.task_uuid AND s.processed = false AND s.attempts > 0
   AND x.workflow_step_uuid = s.workflow_step_uuid AND x.most_recent AND x.to_state IN ('pending', 'waiting_for_retry')
   AND :"schema".calculate_step_next_retry_time(s.backoff_request_seconds, s.last_attempted_at,
         (SELECT max(e.created_at) FROM :"schema".workflow_step_transitions e WHERE e.workflow_step_uuid = s.workflow_step_uuid AND e.to_state = 'error'),
         s.attempts) > now()

\ir ../parts/change_seen.sql
-- The engine drops results of a blocked task. If steps are in flight, the next result continues the task.
SELECT :"schema".transition_task_state_atomic(n.task_uuid, x.to_state, d.becomes::varchar, NULL, jsonb_build_object(
         'event', CASE d.becomes WHEN 'steps_in_process' THEN 'StepsEnqueued' ELSE 'NoDependenciesReady' END,
\ir ../parts/seen_tasks.sql
 CROSS JOIN LATERAL :"schema".get_task_execution_context(n.task_uuid) AS k
 CROSS JOIN LATERAL (SELECT CASE WHEN x.to_state = 'blocked_by_failures' AND k.execution_status = 'processing' THEN 'steps_in_process'
                                 ELSE 'waiting_for_dependencies' END AS becomes) AS d
 WHERE x.to_state IN ('waiting_for_dependencies', 'waiting_for_retry', 'blocked_by_failures')

\ir ../parts/changed.sql
