-- Set jobs that are active for longer than the threshold to pending and clear their started_at.
-- $1 ids text[]: local ids
-- $2 versions text[]: for each id, the version that the operator saw: status, updated_at and xmin
-- $3 settings jsonb
-- Index: jobs_pkey.

\ir ../parts/lock.sql

-- :refused
SELECT r.id, r.why
  FROM (SELECT 'job:' || j.id AS id,
               CASE WHEN j.status NOT IN ('active') THEN 'the job is ' || j.status || ', not active: no executor holds it'
                    WHEN NOT coalesce(j.started_at, j.updated_at) < now() - make_interval(secs => ($3::jsonb ->> 'active_too_long')::float8)
                      THEN 'the job is active for less than ' || make_interval(secs => ($3::jsonb ->> 'active_too_long')::float8) || ': an executor may still run it'
               END AS why
          FROM :"schema".jobs j
         WHERE j.id = ANY (ARRAY(SELECT substr(i, 5)::uuid FROM unnest($1::text[]) AS i))) AS r
 WHERE r.why IS NOT NULL

\ir ../parts/rows.sql

-- :change
UPDATE :"schema".jobs j SET status = 'pending', started_at = NULL, updated_at = clock_timestamp()
  FROM unnest($1::text[], $2::text[]) AS seen(id, version)
 WHERE j.id = substr(seen.id, 5)::uuid
   AND j.status IN ('active')
   AND j.status || '|' || j.updated_at || ':' || j.xmin = seen.version
   AND coalesce(j.started_at, j.updated_at) < now() - make_interval(secs => ($3::jsonb ->> 'active_too_long')::float8)
RETURNING 'job:' || j.id AS id
