-- Retry a failed step with new attempts, and move its task so that the engine finds it.

\ir ../parts/step_refusals.sql
                WHEN x.to_state <> 'error' AND NOT (x.to_state IN ('pending', 'waiting_for_retry') AND s.attempts > 0 AND (s.attempts >= coalesce(s.max_attempts, 3) OR NOT s.retryable) IS TRUE)
                THEN 'it is ' || x.to_state || ', not in error' ELSE 'the step ' ||
\ir ../parts/twin.sql
                || ' is a copy of it and is done: a retry would repeat what that has done' END AS why
\ir ../parts/refused_steps.sql

\ir ../parts/retry_steps.sql

\ir ../parts/continue_task.sql
