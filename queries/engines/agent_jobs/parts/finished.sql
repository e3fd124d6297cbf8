-- Finished jobs: those of the given ids, all of a small table, or the newest 5 completed and 5 failed jobs of each of 500
-- users.
-- needs: by_user
\ir users.sql
, finished AS (
  SELECT l.*
    FROM users u
   CROSS JOIN LATERAL ((SELECT j.* FROM :"schema".jobs j WHERE j.user_id = u.user_id AND j.status = 'completed' ORDER BY j.created_at DESC LIMIT 5)
                       UNION ALL
                       (SELECT j.* FROM :"schema".jobs j WHERE u.last >= 'failed' AND j.user_id = u.user_id AND j.status = 'failed' ORDER BY j.created_at DESC LIMIT 5)) AS l
   WHERE :ids IS NULL AND NOT 'jobs_scan' = ANY (:met_needs)
  UNION ALL
  SELECT j.* FROM :"schema".jobs j WHERE :ids IS NULL AND 'jobs_scan' = ANY (:met_needs) AND j.status IN ('completed', 'failed')
  UNION ALL
  SELECT j.* FROM :"schema".jobs j WHERE j.id = ANY (:job_keys) AND j.status IN ('completed', 'failed')
),
nodes AS (SELECT 'job:' || f.id AS id, f.job_id, f.status, f.error, f.completed_at, f.updated_at FROM finished f),
more AS (SELECT NOT 'jobs_scan' = ANY (:met_needs) AND (SELECT count(*) FROM users) = 500 AS more)
