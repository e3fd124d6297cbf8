-- Move the tasks of `changed(task_uuid)`, because a change of steps alone does not continue a task. The poller finds
-- ready steps only in waiting_for_dependencies, and only for an hour. It never finds a task whose steps are all done,
-- so complete that task here, as the engine does. The engine accepts results only in steps_in_process and
-- evaluating_results. No poller checks these two: the next result continues the task, so move it only if no step is in
-- flight. Never move it to pending, because the engine may treat that as a task without steps. While another step is in
-- error, the task stays, or becomes blocked_by_failures as in the engine.
continued AS MATERIALIZED (
  WITH decided AS MATERIALIZED (
    SELECT k.task_uuid, x.to_state AS was, CASE
      WHEN x.to_state IN ('complete', 'cancelled', 'resolved_manually', 'pending') THEN NULL
      WHEN x.to_state IN ('steps_in_process', 'evaluating_results') AND k.in_progress_steps + k.enqueued_steps > 0 THEN NULL
      WHEN x.to_state IN ('initializing', 'enqueuing_steps') AND x.created_at > now() - :orchestrator THEN NULL
      WHEN k.execution_status = 'blocked_by_failures'
           THEN CASE WHEN x.to_state IN ('steps_in_process', 'evaluating_results') THEN 'blocked_by_failures' END
      WHEN k.execution_status = 'all_complete' THEN 'complete'
      WHEN k.execution_status = 'processing' THEN 'steps_in_process'
      WHEN x.to_state = 'waiting_for_dependencies' AND x.created_at > now() - interval '55 minutes' THEN NULL
      WHEN x.to_state = 'waiting_for_retry' AND x.created_at > now() - interval '25 minutes' THEN NULL
      ELSE 'waiting_for_dependencies' END AS becomes
      FROM :"schema".get_task_execution_contexts_batch(ARRAY(SELECT DISTINCT c.task_uuid FROM changed c)) AS k
      JOIN :"schema".task_transitions x ON x.task_uuid = k.task_uuid AND x.most_recent
  )
  SELECT :"schema".transition_task_state_atomic(d.task_uuid, d.was, d.becomes::varchar, NULL, jsonb_build_object(
          'event', CASE d.becomes WHEN 'complete' THEN 'AllStepsSuccessful' WHEN 'steps_in_process' THEN 'StepsEnqueued'
                               WHEN 'blocked_by_failures' THEN 'PermanentFailure' ELSE 'NoDependenciesReady' END,
          'timestamp', now(), 'operator', :operator, 'reason', :reason, 'console', 'unstick', 'action_id', pg_current_xact_id()::text)) AS moved
    FROM decided d
   WHERE d.becomes IS NOT NULL
)
