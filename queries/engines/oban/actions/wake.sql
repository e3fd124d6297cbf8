-- Make scheduled and retryable jobs available now, before their time.
-- Index: oban_jobs_pkey.

-- :refused
SELECT r.id, r.why
  FROM (SELECT 'job:' || j.id AS id,
               CASE WHEN j.state::text NOT IN ('scheduled', 'retryable') THEN 'the job is ' || j.state || ': it does not wait for a time' END AS why
\ir ../parts/asked.sql

-- :change
WITH changed AS (
  UPDATE :"schema".oban_jobs j SET state = 'available', scheduled_at = timezone('UTC', now()), max_attempts = greatest(j.max_attempts, j.attempt + 1)
\ir ../parts/seen.sql
     AND j.state::text IN ('scheduled', 'retryable')
  RETURNING j.id, j.queue
)
\ir ../parts/notified.sql
