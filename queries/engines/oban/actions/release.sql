-- Make executing jobs available again whose producer is gone, as the engine rescues them. If the attempts are used up, the engine
-- discards the job; here, one more is allowed if the operator sets again, because a producer skips a job that has none left.
-- Index: oban_jobs_pkey.

-- :refused
SELECT r.id, r.why
  FROM (SELECT 'job:' || j.id AS id,
               CASE WHEN j.state <> 'executing' THEN 'the job is ' || j.state || ', not executing'
                    WHEN j.attempt >= j.max_attempts AND (:args ->> 'again')::bool IS NOT TRUE
                      THEN 'this was the last of its ' || j.max_attempts || ' attempts: cancel it, or set again to run it once more'
\ir ../parts/dead_owner.sql

-- :change
WITH changed AS (
  UPDATE :"schema".oban_jobs j SET state = 'available', max_attempts = greatest(j.max_attempts, j.attempt + 1)
\ir ../parts/seen.sql
     AND j.state = 'executing' AND (j.attempt < j.max_attempts OR (:args ->> 'again')::bool)
  RETURNING j.id, j.queue
)
\ir ../parts/notified.sql
