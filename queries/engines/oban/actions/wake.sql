-- Make scheduled and retryable jobs available now, before their time.
-- Index: oban_jobs_pkey.

-- :refused
SELECT 'job:' || j.id AS id, 'the job is ' || j.state || ': it does not wait for a time' AS why
  FROM :"schema".oban_jobs j
 WHERE j.id = ANY (:job_keys) AND j.state::text NOT IN ('scheduled', 'retryable')

-- :change
WITH changed AS (
  UPDATE :"schema".oban_jobs j SET state = 'available', scheduled_at = timezone('UTC', now()), max_attempts = greatest(j.max_attempts, j.attempt + 1)
    FROM unnest(:ids, :versions) AS seen(id, version)
   WHERE j.id = substr(seen.id, 5)::int8 AND j.xmin::text = seen.version
     AND j.state::text IN ('scheduled', 'retryable')
  RETURNING j.id, j.queue
)
SELECT 'job:' || c.id AS id
  FROM changed c -- the engine notifies of inserted jobs only; without it, producers see a job at their next poll
 CROSS JOIN LATERAL pg_notify(:'schema' || '.oban_insert', json_build_object('queue', c.queue)::text) AS sent
