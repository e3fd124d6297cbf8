-- title: Readiness
-- kinds: step
-- Pass the step with its parents: for a step alone, the engine's function treats every parent as unfinished.
-- Indexes: workflow_steps_pkey, the one on workflow_step_edges(to_step_uuid). The engine's function reads only these steps.
SELECT r.current_state AS state, r.ready_for_execution::text AS ready, r.completed_parents || '/' || r.total_parents AS parents_done,
       r.retry_eligible::text AS retry_allowed, r.attempts || '/' || r.max_attempts AS attempts, s.retryable::text, r.next_retry_at::text AS next_retry,
       r.backoff_request_seconds::text AS backoff_seconds, r.last_attempted_at::text AS last_attempted, r.last_failure_at::text AS last_failure,
       s.in_process::text, s.processed::text,
       (SELECT count(*)::text FROM :"schema".workflow_step_transitions x WHERE x.workflow_step_uuid = s.workflow_step_uuid AND x.to_state = 'in_progress') AS claims_ever,
       t.correlation_id::text
  FROM :"schema".workflow_steps s
  JOIN :"schema".tasks t ON t.task_uuid = s.task_uuid
 CROSS JOIN LATERAL :"schema".get_step_readiness_status(s.task_uuid,
         s.workflow_step_uuid || ARRAY(SELECT e.from_step_uuid FROM :"schema".workflow_step_edges e WHERE e.to_step_uuid = s.workflow_step_uuid)) AS r
 WHERE s.workflow_step_uuid = substr(:id, 6)::uuid AND r.workflow_step_uuid = s.workflow_step_uuid
