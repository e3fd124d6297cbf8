-- When the step `s`, which failed at `f.at`, may run again: as the engine's calculate_step_next_retry_time has it, which
-- a read does not call, because its owner's code would run.
CASE WHEN s.backoff_request_seconds IS NOT NULL AND s.last_attempted_at IS NOT NULL
     THEN s.last_attempted_at + s.backoff_request_seconds * interval '1 second'
     ELSE f.at + least(power(2.0, least(coalesce(s.attempts, 1), 6)), 60) * interval '1 second' END
