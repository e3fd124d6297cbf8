-- Make ended jobs available again, as the engine's retry does, and available ones that have no attempt left. One more attempt is
-- allowed if they are used up. The states in which a job is unique are left empty, because a newer job may be the unique one.
-- Index: oban_jobs_pkey.

-- :refused
SELECT 'job:' || j.id AS id, 'the job is ' || j.state || ': it has not ended' AS why
  FROM :"schema".oban_jobs j
 WHERE j.id = ANY (:job_keys) AND j.state::text NOT IN ('discarded', 'cancelled', 'completed') AND NOT (j.state = 'available' AND j.attempt >= j.max_attempts)

-- :change
WITH changed AS (
  UPDATE :"schema".oban_jobs j
     SET state = 'available', max_attempts = greatest(j.max_attempts, j.attempt + 1), scheduled_at = timezone('UTC', now()),
         completed_at = NULL, cancelled_at = NULL, discarded_at = NULL,
         meta = CASE WHEN j.meta ? 'uniq_bmp' THEN jsonb_set(j.meta, '{uniq_bmp}', '[]') ELSE j.meta END
    FROM unnest(:ids, :versions) AS seen(id, version)
   WHERE j.id = substr(seen.id, 5)::int8 AND j.xmin::text = seen.version
     AND (j.state::text IN ('discarded', 'cancelled', 'completed') OR (j.state = 'available' AND j.attempt >= j.max_attempts))
  RETURNING j.id, j.queue
)
SELECT 'job:' || c.id AS id
  FROM changed c -- the engine notifies of inserted jobs only; without it, producers see a job at their next poll
 CROSS JOIN LATERAL pg_notify(:'schema' || '.oban_insert', json_build_object('queue', c.queue)::text) AS sent
