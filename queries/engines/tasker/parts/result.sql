-- Result of the step `s` in the engine's format.
jsonb_build_object(
         'step_uuid', s.workflow_step_uuid, 'success', true, 'result', :args -> 'result', 'status', 'completed', 'error', NULL,
         'metadata', jsonb_build_object('execution_time_ms', 0, 'handler_version', NULL, 'retryable', false, 'completed_at', now(),
           'worker_id', NULL, 'worker_hostname', NULL, 'started_at', NULL, 'error_code', NULL, 'error_type', NULL,
           'context', '{}'::jsonb, 'custom', jsonb_build_object('manually_completed', true, 'completed_by', :operator, 'completion_reason', :reason)),
         'orchestration_metadata', jsonb_build_object('headers', '{}'::jsonb, 'error_context', NULL, 'backoff_hint', NULL, 'custom', '{}'::jsonb))
