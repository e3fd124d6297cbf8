-- Make executing jobs available again whose producer is gone, as the engine rescues them. If the attempts are used up, one more is
-- allowed, because a producer skips a job that has none left.
-- Index: oban_jobs_pkey.

-- :refused
SELECT r.id, r.why
  FROM (SELECT 'job:' || j.id AS id,
               CASE WHEN j.state <> 'executing' THEN 'the job is ' || j.state || ', not executing'
\ir ../parts/dead_owner.sql

-- :change
WITH changed AS (
  UPDATE :"schema".oban_jobs j SET state = 'available', max_attempts = greatest(j.max_attempts, j.attempt + 1)
\ir ../parts/seen.sql
     AND j.state = 'executing'
  RETURNING j.id, j.queue
)
\ir ../parts/notified.sql
