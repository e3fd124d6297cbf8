-- Finished jobs: those of the given ids, or the newest 5 completed and 5 failed jobs of each of 500 users.
-- needs: by_user
\ir users.sql
, finished AS (
  SELECT l.*
    FROM users u
   CROSS JOIN LATERAL ((SELECT j.* FROM :"schema".jobs j WHERE j.user_id = u.user_id AND j.status = 'completed' ORDER BY j.created_at DESC LIMIT 5)
                       UNION ALL
                       (SELECT j.* FROM :"schema".jobs j WHERE u.last >= 'failed' AND j.user_id = u.user_id AND j.status = 'failed' ORDER BY j.created_at DESC LIMIT 5)) AS l
   WHERE :ids IS NULL
  UNION ALL
  SELECT j.* FROM :"schema".jobs j WHERE j.id = ANY (:job_keys) AND j.status IN ('completed', 'failed')
),
nodes AS (SELECT 'job:' || f.id AS id, f.job_id, f.status, f.error, f.completed_at, f.updated_at FROM finished f),
more AS (SELECT count(*) = 500 AS more FROM users)
