-- Pending for long while a newer job of the same agent has ended: what should have ended this row was lost.
-- needs: by_user, by_agent
-- $1 ids text[]: only for these local ids, or NULL
-- $2 limits jsonb
-- $3 page int: how many at most
-- Each user's oldest pending jobs by the index; the oldest 1,000 are looked at.
WITH RECURSIVE users AS (
  -- Every user once, by leaps through the index.
  (SELECT j.user_id FROM jobs j ORDER BY j.user_id LIMIT 1)
  UNION ALL
  SELECT (SELECT j.user_id FROM jobs j WHERE j.user_id > u.user_id ORDER BY j.user_id LIMIT 1)
    FROM users u WHERE u.user_id IS NOT NULL
), late AS MATERIALIZED (
  SELECT l.*
    FROM users u
   CROSS JOIN LATERAL (SELECT j.id, j.job_id, j.agent_id, j.created_at FROM jobs j
                        WHERE j.user_id = u.user_id AND j.status = 'pending'
                          AND j.created_at < now() - make_interval(secs => ($2::jsonb ->> 'overdue')::float8)
                        ORDER BY j.created_at LIMIT 1000) AS l
   ORDER BY l.created_at, l.id
   LIMIT 1000
), judged AS (
  -- Whether one of the next 50 jobs of the same agent has ended, by itself.
  SELECT l.*, (SELECT o.job_id
                 FROM (SELECT n.job_id, n.completed_at, n.error FROM jobs n
                        WHERE n.agent_id = l.agent_id AND n.created_at > l.created_at
                        ORDER BY n.created_at LIMIT 50) AS o
                WHERE o.completed_at IS NOT NULL AND coalesce(o.error, '') NOT LIKE '% by operator %'
                LIMIT 1) AS overtaker
    FROM late l
   WHERE $1::text[] IS NULL OR 'job:' || l.id = ANY ($1::text[])
)
SELECT 'job:' || j.id AS id, extract(epoch FROM j.created_at)::float8 AS since,
       jsonb_build_object('job_id', j.job_id, 'created_at', date_trunc('second', j.created_at)::text, 'overtaker', j.overtaker,
                          'age', CASE WHEN isfinite(j.created_at) THEN date_trunc('second', now() - j.created_at)::text ELSE 'ever' END) AS evidence
  FROM judged j
 WHERE j.overtaker IS NOT NULL
 ORDER BY j.created_at, j.id
 LIMIT $3::int
