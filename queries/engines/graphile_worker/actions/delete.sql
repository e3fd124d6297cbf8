-- Delete jobs that failed as often as they may, as the engine's complete_jobs does.
-- Index: jobs_pkey1.

-- :refused
SELECT r.id, r.why
  FROM (SELECT 'job:' || j.id AS id,
               CASE WHEN j.locked_at IS NOT NULL THEN 'a worker has locked it' WHEN j.is_available THEN 'it has attempts left: cancel it' END AS why
          FROM :"schema"._private_jobs j
         WHERE j.id = ANY (:job_keys)) AS r
 WHERE r.why IS NOT NULL

-- :change
DELETE FROM :"schema"._private_jobs j
 USING unnest(:ids, :versions) AS seen(id, version)
 WHERE j.id = substr(seen.id, 5)::int8 AND j.xmin::text = seen.version AND j.locked_at IS NULL AND j.attempts >= j.max_attempts
RETURNING 'job:' || j.id AS id
