-- The phase of a task's or step's state, `w.to_state`.
       CASE WHEN w.to_state IN ('pending', 'enqueued') THEN 'ready'
            WHEN w.to_state IN ('initializing', 'enqueuing_steps', 'steps_in_process', 'evaluating_results', 'in_progress',
                                'enqueued_for_orchestration', 'enqueued_as_error_for_orchestration') THEN 'running'
            WHEN w.to_state = 'waiting_for_dependencies' THEN 'blocked'
            WHEN w.to_state = 'waiting_for_retry' THEN 'scheduled'
            WHEN w.to_state IN ('blocked_by_failures', 'error') THEN 'failed'
            WHEN w.to_state = 'cancelled' THEN 'cancelled'
            WHEN w.to_state IN ('complete', 'resolved_manually') THEN 'done' ELSE 'unknown' END AS phase,
