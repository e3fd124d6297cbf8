-- Set the backoff of a step, or of all steps of a task, to zero, which the engine treats as "retry now": it makes them pending and
-- enqueues them. Restart the 60 minutes in which the poller finds a waiting task.

-- :refused
WITH \ir ../parts/asked_steps.sql
SELECT a.id, r.why
  FROM asked_steps a
 CROSS JOIN LATERAL (SELECT :"schema".calculate_step_next_retry_time(a.backoff_request_seconds, a.last_attempted_at,
            (SELECT max(e.created_at) FROM :"schema".workflow_step_transitions e WHERE e.workflow_step_uuid = a.workflow_step_uuid AND e.to_state = 'error'),
            a.attempts) AS at) AS w
 CROSS JOIN LATERAL (SELECT count(*) AS total, count(p.to_state) AS done
                       FROM :"schema".workflow_step_edges e
                       LEFT JOIN :"schema".workflow_step_transitions p ON p.workflow_step_uuid = e.from_step_uuid AND p.most_recent
                             AND p.to_state IN ('complete', 'resolved_manually')
                      WHERE e.to_step_uuid = a.workflow_step_uuid) AS k
 CROSS JOIN LATERAL (SELECT coalesce(a.why,
  CASE WHEN a.to_state NOT IN ('pending', 'waiting_for_retry') THEN 'it is ' || a.to_state || ', so it has no waiting time'
       WHEN a.attempts > 0 AND (a.attempts >= coalesce(a.max_attempts, 3) OR NOT a.retryable) THEN 'it has no attempts left. Retry gives it new ones'
       WHEN a.in_process THEN 'its in_process flag is set. Clear it first'
       WHEN k.total > k.done THEN 'it waits for ' || (k.total - k.done) || ' of its parents, not for a time'
       WHEN w.at IS NULL OR w.at <= now() THEN
         CASE WHEN a.task_state IN ('waiting_for_dependencies', 'waiting_for_retry') THEN 'it is already due. If it does not start, wake its task'
              ELSE 'it is already due' END END) AS why) r
 WHERE r.why IS NOT NULL

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
WITH \ir ../parts/steps_seen.sql
UPDATE :"schema".workflow_steps s
   SET backoff_request_seconds = 0, last_attempted_at = least(s.last_attempted_at, localtimestamp), updated_at = now()
  FROM steps_seen n
 WHERE s.workflow_step_uuid = n.workflow_step_uuid AND s.processed = false AND n.to_state IN ('pending', 'waiting_for_retry')
   AND (n.kind = 'step' OR n.node_state IN ('waiting_for_dependencies', 'waiting_for_retry', 'blocked_by_failures'))
   AND :"schema".calculate_step_next_retry_time(s.backoff_request_seconds, s.last_attempted_at,
         (SELECT max(e.created_at) FROM :"schema".workflow_step_transitions e WHERE e.workflow_step_uuid = s.workflow_step_uuid AND e.to_state = 'error'),
         s.attempts) > now()

-- :change
WITH changed AS MATERIALIZED (
  WITH \ir ../parts/changed.sql
  SELECT c.task_uuid FROM changed c WHERE c.id LIKE 'step:%'
),
\ir ../parts/continued.sql
SELECT c.moved FROM continued c

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
 WHERE n.kind = 'task' AND n.state IN ('waiting_for_dependencies', 'waiting_for_retry', 'blocked_by_failures')

-- :change
WITH \ir ../parts/finished.sql
, \ir ../parts/changed.sql
SELECT c.id FROM changed c
