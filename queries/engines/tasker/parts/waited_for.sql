-- What the time in a state was for, for `w.was`.
       CASE WHEN w.was = 'enqueued' THEN 'for a worker' WHEN w.was = 'in_progress' THEN 'for the handler'
            WHEN w.was IN ('enqueued_for_orchestration', 'enqueued_as_error_for_orchestration', 'initializing', 'enqueuing_steps', 'evaluating_results')
                 THEN 'for the orchestrator'
            WHEN w.was = 'steps_in_process' THEN 'for its steps' WHEN w.was = 'waiting_for_dependencies' THEN 'for parents of its steps'
            WHEN w.was = 'waiting_for_retry' THEN 'for its backoff' WHEN w.was = 'pending' THEN 'to be taken up'
            WHEN w.was IN ('error', 'blocked_by_failures') THEN 'for somebody' END AS waited_for,
