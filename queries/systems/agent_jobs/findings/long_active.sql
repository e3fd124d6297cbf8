-- Active for long: only an executor that works by this table makes jobs active.
-- needs: by_user
-- $1 ids text[]: only for these local ids, or NULL
-- $2 limits jsonb
-- $3 page int: how many at most
WITH RECURSIVE users AS (
  -- Every user once, by leaps through the index.
  (SELECT j.user_id FROM jobs j ORDER BY j.user_id LIMIT 1)
  UNION ALL
  SELECT (SELECT j.user_id FROM jobs j WHERE j.user_id > u.user_id ORDER BY j.user_id LIMIT 1)
    FROM users u WHERE u.user_id IS NOT NULL
)
SELECT 'job:' || a.id AS id, extract(epoch FROM a.since)::float8 AS since,
       jsonb_build_object('job_id', a.job_id, 'started_at', date_trunc('second', a.since)::text,
                          'age', CASE WHEN isfinite(a.since) THEN date_trunc('second', now() - a.since)::text ELSE 'ever' END) AS evidence
  FROM users u
 CROSS JOIN LATERAL (SELECT j.id, j.job_id, coalesce(j.started_at, j.updated_at) AS since FROM jobs j
                      WHERE j.user_id = u.user_id AND j.status = 'active' AND $2::jsonb ->> 'profile' = 'table') AS a
 WHERE a.since < now() - make_interval(secs => ($2::jsonb ->> 'long_active')::float8)
   AND ($1::text[] IS NULL OR 'job:' || a.id = ANY ($1::text[]))
 ORDER BY a.since, a.id
 LIMIT $3::int
