-- Finished jobs with contradictory columns: among the given ids, or among the newest 5 completed and 5 failed jobs of each
-- of 500 users.
-- needs: by_user
WITH RECURSIVE
\ir ../parts/users.sql
, finished AS (
  SELECT l.*
    FROM users u
   CROSS JOIN LATERAL ((SELECT j.* FROM :"schema".jobs j WHERE j.user_id = u.user_id AND j.status = 'completed' ORDER BY j.created_at DESC LIMIT 5)
                       UNION ALL
                       (SELECT j.* FROM :"schema".jobs j WHERE u.last >= 'failed' AND j.user_id = u.user_id AND j.status = 'failed' ORDER BY j.created_at DESC LIMIT 5)) AS l
   WHERE :ids IS NULL
  UNION ALL
  SELECT j.*
    FROM :"schema".jobs j
   WHERE j.id = ANY (:job_keys)
     AND j.status IN ('completed', 'failed')
)
(SELECT 'job:' || t.id AS id, extract(epoch FROM t.updated_at)::float8 AS since,
       jsonb_build_object('job_id', t.job_id,
         'what', CASE WHEN t.completed_at IS NULL THEN 'The job is ' || t.status || ' but has no completed_at'
                      WHEN t.error LIKE '% by operator %' THEN 'An operator marked the job failed, and the worker changed it to completed later. The error is still the operator''s'
                      ELSE 'The job is completed but has an error: an earlier attempt failed, and the engine does not clear the error' END) AS evidence
  FROM finished t
 WHERE t.completed_at IS NULL OR (t.status = 'completed' AND t.error IS NOT NULL)
 ORDER BY t.updated_at DESC, t.id
 LIMIT :limit)
UNION ALL
SELECT NULL, NULL, NULL WHERE :ids IS NULL AND (SELECT count(*) FROM users) = 500
