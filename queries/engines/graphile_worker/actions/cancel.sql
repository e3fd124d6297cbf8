-- Cancel jobs that wait: delete their rows, as the engine's complete_jobs does.
-- Index: jobs_pkey1.

-- :refused
SELECT r.id, r.why
  FROM (SELECT 'job:' || j.id AS id,
               CASE WHEN j.locked_at IS NOT NULL THEN 'a worker has locked it, and the engine cannot stop it' WHEN NOT j.is_available THEN 'it failed as often as it may: delete it' END AS why
          FROM :"schema"._private_jobs j
         WHERE j.id = ANY (:job_keys)) AS r
 WHERE r.why IS NOT NULL

-- :change
DELETE FROM :"schema"._private_jobs j
 USING unnest(:ids, :versions) AS seen(id, version)
 WHERE j.id = substr(seen.id, 5)::int8 AND j.xmin::text = seen.version AND j.is_available
RETURNING 'job:' || j.id AS id
