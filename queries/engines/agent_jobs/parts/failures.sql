-- failures: the jobs that ended in the time, among the newest 2,000, or without an index on created_at among as many of
-- 500 users. Those that did not fail, or by an operator, have no error.
-- needs: by_user
-- Indexes: one on jobs(created_at), if it exists; one on jobs(user_id, status, created_at).
\ir users.sql
, share AS (SELECT greatest(20, 2000 / greatest(count(*), 1)) AS rows FROM users),
newest AS MATERIALIZED (
  (SELECT id, status, error, completed_at FROM :"schema".jobs WHERE 'by_created' = ANY (:met_needs) ORDER BY created_at DESC LIMIT 2000)
  UNION ALL
  SELECT l.id, l.status, l.error, l.completed_at
    FROM users u
   CROSS JOIN LATERAL (SELECT e.* FROM ((SELECT j.* FROM :"schema".jobs j WHERE j.user_id = u.user_id AND j.status = 'completed'
                                          ORDER BY j.created_at DESC LIMIT (SELECT s.rows FROM share s))
                                         UNION ALL
                                        (SELECT j.* FROM :"schema".jobs j WHERE u.last >= 'failed' AND j.user_id = u.user_id AND j.status = 'failed'
                                          ORDER BY j.created_at DESC LIMIT (SELECT s.rows FROM share s))) AS e
                        ORDER BY e.created_at DESC LIMIT (SELECT s.rows FROM share s)) AS l
   WHERE NOT 'by_created' = ANY (:met_needs)
),
failures AS (
  SELECT 'job:' || j.id AS id, j.completed_at AS at, true AS first,
         CASE WHEN j.status = 'failed' AND coalesce(j.error, '') NOT LIKE '% by operator %' THEN coalesce(left(j.error, 1000), '') END AS error
    FROM newest j
   WHERE j.status IN ('completed', 'failed') AND j.completed_at BETWEEN now() - :failed_alike AND now()
)
