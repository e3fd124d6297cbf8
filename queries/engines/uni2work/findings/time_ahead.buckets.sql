-- Find jobs, cron entries and token buckets whose times are ahead of the server's clock: rules that compare ages do not apply to them,
-- and cron and workers may do nothing until then.
-- kinds: job cron bucket
-- needs: token_bucket
-- $1 ids text[]: restrict to these local ids; NULL for all
-- $2 settings jsonb
-- $3 met_needs text[]
-- $4 page int: maximum number of rows
-- Indexes: both ends of queued_job_pkey, the end of cron_last_exec_pkey, and those on the times if they exist. token_bucket has
-- only a few rows.
WITH clock AS MATERIALIZED (SELECT now() + make_interval(secs => ($2::jsonb ->> 'ahead')::float8) AS at),
jobs AS (
  SELECT q.id, q.creation_instance, q.creation_time, q.lock_instance, q.lock_time
    FROM (SELECT * FROM :"schema".queued_job WHERE $1::text[] IS NULL ORDER BY id LIMIT ($2::jsonb ->> 'head')::float8::int) AS q
  UNION
  SELECT q.id, q.creation_instance, q.creation_time, q.lock_instance, q.lock_time
    FROM (SELECT * FROM :"schema".queued_job WHERE $1::text[] IS NULL ORDER BY id DESC LIMIT 500) AS q
  UNION
  SELECT q.id, q.creation_instance, q.creation_time, q.lock_instance, q.lock_time FROM :"schema".queued_job q
   WHERE q.id = ANY (ARRAY(SELECT substr(i, 5)::int8 FROM unnest($1::text[]) AS i WHERE i ~ '^job:\d{1,18}$'))
),
entries AS (
  (SELECT c.id, c.instance, c."time" FROM :"schema".cron_last_exec c WHERE $1::text[] IS NULL ORDER BY c.id DESC LIMIT 1000)
  UNION
  (SELECT c.id, c.instance, c."time" FROM :"schema".cron_last_exec c WHERE $1::text[] IS NULL AND 'cron_by_time' = ANY ($3::text[])
    ORDER BY c."time" DESC LIMIT 200)
  UNION
  SELECT c.id, c.instance, c."time" FROM :"schema".cron_last_exec c
   WHERE $1::text[] IS NULL AND (SELECT pg_relation_size(format('%I.cron_last_exec', :'schema')::regclass) <= ($2::jsonb ->> 'cron_whole')::float8)
  UNION
  SELECT c.id, c.instance, c."time" FROM :"schema".cron_last_exec c
   WHERE c.id = ANY (ARRAY(SELECT substr(i, 6)::int8 FROM unnest($1::text[]) AS i WHERE i ~ '^cron:\d{1,18}$'))
),
ahead AS (
  SELECT 'job:' || j.id AS id, 'lock' AS what, j.lock_time AS at, j.lock_instance::text AS instance FROM jobs j WHERE j.lock_time > (SELECT c.at FROM clock c)
  UNION ALL
  SELECT 'job:' || j.id, 'creation', j.creation_time, j.creation_instance::text FROM jobs j
   WHERE j.creation_time > (SELECT c.at FROM clock c) AND (j.lock_time > (SELECT c.at FROM clock c)) IS NOT TRUE
  UNION ALL
  SELECT 'cron:' || e.id, 'last execution', e."time", e.instance::text FROM entries e WHERE e."time" > (SELECT c.at FROM clock c)
  UNION ALL
  SELECT 'bucket:' || b.ident, 'last use', b.last_access, NULL FROM :"schema".token_bucket b
   WHERE b.last_access > (SELECT c.at FROM clock c) AND ($1::text[] IS NULL OR 'bucket:' || b.ident = ANY ($1::text[]))
)
SELECT a.id, extract(epoch FROM now())::float8 AS since,
       jsonb_build_object('what', a.what, 'instance', coalesce(a.instance, 'not recorded'),
         'time', CASE WHEN isfinite(a.at) THEN date_trunc('second', a.at)::text ELSE 'infinity' END,
         'ahead', CASE WHEN isfinite(a.at) THEN date_trunc('second', a.at - now())::text ELSE 'ever' END) AS evidence
  FROM ahead a
 ORDER BY a.at DESC, a.id
 LIMIT $4::int
