-- Jobs that are active for too long. Only an executor that polls this table sets jobs to active. At most 2,000 jobs are
-- checked: those with the given ids; else the oldest, if an index starts with status and created_at; else those of
-- 500 users.
-- needs: by_user
-- $1 ids text[]: local ids to check, or NULL for all
-- $2 settings jsonb
-- $3 page int: maximum number of rows
-- $4 met_needs text[]
-- Indexes: one on jobs(status, created_at), or that on jobs(user_id, status, created_at).
WITH RECURSIVE
\ir ../parts/users.sql
, active AS MATERIALIZED (
  (SELECT j.* FROM :"schema".jobs j
    WHERE $1::text[] IS NULL AND $2::jsonb ->> 'profile' = 'table' AND 'unfinished' = ANY ($4::text[]) AND j.status = 'active' ORDER BY j.created_at LIMIT 2000)
  UNION ALL
  (SELECT o.*
     FROM users u
    CROSS JOIN LATERAL (SELECT j.* FROM :"schema".jobs j WHERE j.user_id = u.user_id AND j.status = 'active' ORDER BY j.created_at LIMIT 1000) AS o
    WHERE $1::text[] IS NULL AND $2::jsonb ->> 'profile' = 'table' AND NOT 'unfinished' = ANY ($4::text[])
    LIMIT 2000)
  UNION ALL
  SELECT j.* FROM :"schema".jobs j
   WHERE j.id = ANY (ARRAY(SELECT substr(i, 5)::uuid FROM unnest($1::text[]) AS i WHERE i LIKE 'job:%')) AND j.status = 'active'
)
(SELECT 'job:' || a.id AS id, extract(epoch FROM a.since)::float8 AS since,
        jsonb_build_object('job_id', a.job_id, 'started_at', date_trunc('second', a.since)::text,
                           'age', CASE WHEN isfinite(a.since) THEN date_trunc('second', now() - a.since)::text ELSE 'infinite time' END) AS evidence
   FROM (SELECT j.id, j.job_id, coalesce(j.started_at, j.updated_at) AS since FROM active j WHERE $2::jsonb ->> 'profile' = 'table') AS a
  WHERE a.since < now() - make_interval(secs => ($2::jsonb ->> 'active_too_long')::float8)
  ORDER BY a.since, a.id
  LIMIT $3::int)
UNION ALL
SELECT NULL, NULL, NULL
 WHERE $1::text[] IS NULL AND $2::jsonb ->> 'profile' = 'table'
   AND ((SELECT count(*) FROM active) = 2000 OR NOT 'unfinished' = ANY ($4::text[]) AND (SELECT count(*) FROM users) = 500)
