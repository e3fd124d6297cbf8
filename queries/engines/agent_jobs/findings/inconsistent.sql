-- Columns that contradict each other, among the newest 5 finished jobs of either sort of each of 500 users, or,
-- where ids are given, among these.
-- needs: by_user
-- $1 ids text[]: only for these local ids, or NULL
-- $2 page int: how many at most
-- Index: one on jobs(user_id, status, created_at).
WITH RECURSIVE
\ir ../parts/users.sql
, finished AS (
  SELECT l.*
    FROM users u
   CROSS JOIN LATERAL ((SELECT j.* FROM :"schema".jobs j WHERE j.user_id = u.user_id AND j.status = 'completed' ORDER BY j.created_at DESC LIMIT 5)
                       UNION ALL
                       (SELECT j.* FROM :"schema".jobs j WHERE u.last >= 'failed' AND j.user_id = u.user_id AND j.status = 'failed' ORDER BY j.created_at DESC LIMIT 5)) AS l
   WHERE $1::text[] IS NULL
  UNION ALL
  SELECT j.*
    FROM :"schema".jobs j
   WHERE j.id = ANY (ARRAY(SELECT substr(i, 5)::uuid FROM unnest($1::text[]) AS i WHERE i LIKE 'job:%'))
     AND j.status IN ('completed', 'failed')
)
SELECT 'job:' || t.id AS id, extract(epoch FROM t.updated_at)::float8 AS since,
       jsonb_build_object('job_id', t.job_id,
         'what', CASE WHEN t.completed_at IS NULL THEN 'It is ' || t.status || ' but has no completed_at'
                      WHEN t.error LIKE '% by operator %' THEN 'An operator had marked it failed; the worker has overwritten that with completed since. Its error is the operator''s'
                      ELSE 'It is completed but has an error: it failed before, and completing does not take the text away' END) AS evidence
  FROM finished t
 WHERE t.completed_at IS NULL OR (t.status = 'completed' AND t.error IS NOT NULL)
 ORDER BY t.updated_at DESC, t.id
 LIMIT $2::int
