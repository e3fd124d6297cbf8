-- Restart the 60 minutes in which the poller finds a waiting task, and remove the backoffs of its steps.

-- :refused
WITH \ir ../parts/asked_tasks.sql
SELECT a.id, r.why FROM asked_tasks a
  LEFT JOIN LATERAL :"schema".get_task_execution_context(a.task_uuid) k ON true
 CROSS JOIN LATERAL (SELECT coalesce(a.why,
  CASE WHEN a.to_state NOT IN ('waiting_for_dependencies', 'waiting_for_retry', 'blocked_by_failures') THEN 'it is ' || a.to_state || ', so it does not wait'
       WHEN k.execution_status = 'blocked_by_failures' THEN k.failed_steps || ' of its steps permanently failed. Retry or skip them'
       WHEN k.execution_status = 'all_complete' THEN 'all its steps are done, so the poller does not find it. Finalize it' END) AS why) r
 WHERE r.why IS NOT NULL

-- :change
WITH \ir ../parts/seen.sql
UPDATE :"schema".workflow_steps s
   SET backoff_request_seconds = 0, last_attempted_at = least(s.last_attempted_at, localtimestamp), updated_at = now()
  FROM seen n, :"schema".workflow_step_transitions x
 WHERE n.state IN ('waiting_for_dependencies', 'waiting_for_retry', 'blocked_by_failures')
   AND s.task_uuid = n.task_uuid AND s.processed = false AND s.attempts > 0
   AND x.workflow_step_uuid = s.workflow_step_uuid AND x.most_recent AND x.to_state IN ('pending', 'waiting_for_retry')
   AND :"schema".calculate_step_next_retry_time(s.backoff_request_seconds, s.last_attempted_at,
         (SELECT max(e.created_at) FROM :"schema".workflow_step_transitions e WHERE e.workflow_step_uuid = s.workflow_step_uuid AND e.to_state = 'error'),
         s.attempts) > now()

-- :change
-- The engine drops results of a blocked task. If steps are in flight, the next result continues the task.
WITH \ir ../parts/seen.sql
SELECT :"schema".transition_task_state_atomic(n.task_uuid, n.state, d.becomes::varchar, NULL, jsonb_build_object(
         'event', CASE d.becomes WHEN 'steps_in_process' THEN 'StepsEnqueued' ELSE 'NoDependenciesReady' END,
         'timestamp', now(), 'operator', :operator, 'reason', :reason, 'console', 'unstick', 'action_id', pg_current_xact_id()::text))
  FROM seen n
 CROSS JOIN LATERAL :"schema".get_task_execution_context(n.task_uuid) AS k
 CROSS JOIN LATERAL (SELECT CASE WHEN n.state = 'blocked_by_failures' AND k.execution_status = 'processing' THEN 'steps_in_process'
                                 ELSE 'waiting_for_dependencies' END AS becomes) AS d
 WHERE n.state IN ('waiting_for_dependencies', 'waiting_for_retry', 'blocked_by_failures')

-- :change
WITH \ir ../parts/changed.sql
SELECT c.id FROM changed c
