-- Next retry time of the step `s`, which failed at `f.at`. Same formula as the engine's calculate_step_next_retry_time,
-- which a read must not call because it would run its owner's code.
CASE WHEN s.backoff_request_seconds IS NOT NULL AND s.last_attempted_at IS NOT NULL
     THEN s.last_attempted_at + s.backoff_request_seconds * interval '1 second'
     ELSE f.at + least(power(2.0, least(coalesce(s.attempts, 1), 6)), 60) * interval '1 second' END
