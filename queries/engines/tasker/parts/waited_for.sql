-- What a task or step waited for in the state `w.was`.
       CASE WHEN w.was = 'enqueued' THEN 'for a worker' WHEN w.was = 'in_progress' THEN 'for the handler'
            WHEN w.was IN ('enqueued_for_orchestration', 'enqueued_as_error_for_orchestration', 'initializing', 'enqueuing_steps', 'evaluating_results')
                 THEN 'for the orchestrator'
            WHEN w.was = 'steps_in_process' THEN 'for its steps' WHEN w.was = 'waiting_for_dependencies' THEN 'for its steps'' parents'
            WHEN w.was = 'waiting_for_retry' THEN 'for its backoff' WHEN w.was = 'pending' THEN 'for the orchestrator'
            WHEN w.was IN ('error', 'blocked_by_failures') THEN 'for an operator' END AS waited_for,
