-- Cancel jobs that do not run. The engine cancels an executing one by a message to its producer.
-- Index: oban_jobs_pkey.

\ir ../parts/lock.sql

-- :refused
SELECT r.id, r.why
  FROM (SELECT 'job:' || j.id AS id,
               CASE WHEN j.state = 'executing' THEN 'it is executing, and only the engine can stop it. Run in the application: Oban.cancel_job(' || j.id || ')'
                    WHEN j.state::text NOT IN ('available', 'scheduled', 'retryable', 'suspended') THEN 'the job is ' || j.state || ': it has ended' END AS why
\ir ../parts/asked.sql

\ir ../parts/rows.sql

-- :change
UPDATE :"schema".oban_jobs j SET state = 'cancelled', cancelled_at = timezone('UTC', now())
\ir ../parts/seen.sql
   AND j.state::text IN ('available', 'scheduled', 'retryable', 'suspended')
RETURNING 'job:' || j.id AS id
