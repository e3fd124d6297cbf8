-- Jobs that are delayed for longer than the threshold. Only an executor that polls this table sets jobs to delayed. At most 2,000
-- jobs are checked, the oldest first: those with the given ids; else all, if an index starts with status and created_at; else those
-- of 500 users.
-- needs: by_user
-- $1 ids text[]: local ids to check, or NULL for all
-- $2 settings jsonb
-- $3 page int: maximum number of rows
-- $4 met_needs text[]
-- Indexes: one on jobs(status, created_at), or that on jobs(user_id, status, created_at).
WITH RECURSIVE
\ir ../parts/users.sql
, waiting AS MATERIALIZED (
  (SELECT j.* FROM :"schema".jobs j
    WHERE $1::text[] IS NULL AND $2::jsonb ->> 'profile' = 'table' AND 'unfinished' = ANY ($4::text[]) AND j.status = 'delayed' ORDER BY j.created_at LIMIT 2000)
  UNION ALL
  (SELECT o.*
     FROM users u
    CROSS JOIN LATERAL (SELECT j.* FROM :"schema".jobs j WHERE j.user_id = u.user_id AND j.status = 'delayed' ORDER BY j.created_at LIMIT 1000) AS o
    WHERE $1::text[] IS NULL AND $2::jsonb ->> 'profile' = 'table' AND NOT 'unfinished' = ANY ($4::text[])
    LIMIT 2000)
  UNION ALL
  SELECT j.* FROM :"schema".jobs j
   WHERE j.id = ANY (ARRAY(SELECT substr(i, 5)::uuid FROM unnest($1::text[]) AS i WHERE i LIKE 'job:%')) AND j.status = 'delayed'
)
(SELECT 'job:' || w.id AS id, extract(epoch FROM greatest(w.created_at, w.updated_at))::float8 AS since,
        jsonb_build_object('job_id', w.job_id, 'since', date_trunc('second', greatest(w.created_at, w.updated_at))::text) AS evidence
   FROM waiting w
  WHERE $2::jsonb ->> 'profile' = 'table' AND greatest(w.created_at, w.updated_at) < now() - make_interval(secs => ($2::jsonb ->> 'delayed_too_long')::float8)
  ORDER BY greatest(w.created_at, w.updated_at), w.id
  LIMIT $3::int)
UNION ALL
SELECT NULL, NULL, NULL
 WHERE $1::text[] IS NULL AND $2::jsonb ->> 'profile' = 'table'
   AND ((SELECT count(*) FROM waiting) = 2000 OR NOT 'unfinished' = ANY ($4::text[]) AND (SELECT count(*) FROM users) = 500)
