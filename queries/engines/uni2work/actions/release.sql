-- Clear both lock columns, so that a worker of any instance can take the job. Change, or even lock with FOR UPDATE, only
-- rows whose lock is older than the threshold: the application uses SERIALIZABLE transactions, and a write to a row that
-- one of them has read makes it fail and the job run again. Instances do not reclaim each other's locks (assumed).
-- A lock without a time has no age. The application did not write it, because it sets both columns or clears both. It is
-- released at once, even if its instance is active.
-- $1 ids text[]: local ids
-- $2 versions text[]: version of each node that the operator saw: lock_instance, lock_time, xmin
-- $3 args jsonb: gone: the operator confirms that the instance is no longer running
-- $4 settings jsonb
-- Indexes: both ends of queued_job_pkey; all of cron_last_exec up to 160 MB, else its newest entries.

-- :lock
SELECT 'job:' || q.id AS id, coalesce(q.lock_instance::text, '-') || '@' || coalesce(q.lock_time::text, '-') || ':' || q.xmin AS version
  FROM :"schema".queued_job q
 WHERE q.id = ANY (ARRAY(SELECT substr(i, 5)::int8 FROM unnest($1::text[]) AS i))
   AND NOT coalesce(q.lock_time < now() - make_interval(secs => ($4::jsonb ->> 'stale')::float8), q.lock_instance IS NOT NULL)

-- :lock
SELECT 'job:' || q.id AS id, coalesce(q.lock_instance::text, '-') || '@' || coalesce(q.lock_time::text, '-') || ':' || q.xmin AS version
  FROM :"schema".queued_job q
 WHERE q.id = ANY (ARRAY(SELECT substr(i, 5)::int8 FROM unnest($1::text[]) AS i))
   AND coalesce(q.lock_time < now() - make_interval(secs => ($4::jsonb ->> 'stale')::float8), q.lock_instance IS NOT NULL)
 ORDER BY q.id
   FOR UPDATE SKIP LOCKED

-- :refused
SELECT r.id, r.why
  FROM (SELECT 'job:' || q.id AS id,
               CASE WHEN q.lock_instance IS NULL AND q.lock_time IS NULL THEN 'it is not locked, so any worker can take it'
                    WHEN NOT coalesce(q.lock_time < now() - make_interval(secs => ($4::jsonb ->> 'stale')::float8), q.lock_instance IS NOT NULL)
                      THEN 'its lock is younger than ' || make_interval(secs => ($4::jsonb ->> 'stale')::float8) || '. A worker may be running the job, and a write would abort its transaction'
                    WHEN NOT coalesce(($3::jsonb ->> 'gone')::bool, false)
                      THEN 'confirm with gone that ' || coalesce('instance ' || q.lock_instance, 'the instance that locked it') || ' is no longer running. If it is running, the job runs twice'
                    WHEN q.lock_time IS NOT NULL AND l.at >= now() - make_interval(secs => ($4::jsonb ->> 'stale')::float8)
                      THEN 'instance ' || q.lock_instance || ' was active at ' || date_trunc('second', l.at) || ', so it is not gone'
               END AS why
          FROM :"schema".queued_job q
          LEFT JOIN (SELECT s.instance, max(s.at) AS at
         FROM ((SELECT w.lock_instance::text AS instance, w.lock_time AS at
                  FROM (SELECT o.lock_instance, o.lock_time FROM :"schema".queued_job o ORDER BY o.id LIMIT ($4::jsonb ->> 'window')::float8::int) AS w)
               UNION ALL
               (SELECT o.creation_instance::text, o.creation_time FROM :"schema".queued_job o ORDER BY o.id DESC LIMIT ($4::jsonb ->> 'head')::float8::int)
               UNION ALL
               (SELECT c.instance::text, c."time" FROM :"schema".cron_last_exec c ORDER BY c.id DESC LIMIT ($4::jsonb ->> 'head')::float8::int)
               UNION ALL
               SELECT c.instance::text, c."time" FROM :"schema".cron_last_exec c WHERE (SELECT pg_relation_size(format('%I.cron_last_exec', :'schema')::regclass) <= 167772160)) AS s
        WHERE isfinite(s.at)
        GROUP BY s.instance) AS l ON l.instance = q.lock_instance::text
         WHERE q.id = ANY (ARRAY(SELECT substr(i, 5)::int8 FROM unnest($1::text[]) AS i))) AS r
 WHERE r.why IS NOT NULL

-- :witnesses
WITH asked AS MATERIALIZED (
  SELECT 'job:' || q.id AS id, q.lock_instance::text AS instance, extract(epoch FROM q.lock_time)::float8 AS since
    FROM :"schema".queued_job q
   WHERE q.id = ANY (ARRAY(SELECT substr(i, 5)::int8 FROM unnest($1::text[]) AS i))
     AND (q.lock_instance IS NOT NULL OR q.lock_time IS NOT NULL)
),
\ir ../parts/instance_witnesses.sql

-- :rows
-- Include the instance's last activity elsewhere. If it is active after the dry run, the row is stale and stays unchanged.
SELECT 'job:' || q.id AS id, 'queued_job' AS "table", q.id::text AS key,
       to_jsonb(q) - 'content' || jsonb_build_object('content', left(q.content::text, 2000), 'last activity',
         coalesce((SELECT date_trunc('second', l.at)::text FROM (SELECT s.instance, max(s.at) AS at
         FROM ((SELECT w.lock_instance::text AS instance, w.lock_time AS at
                  FROM (SELECT o.id, o.lock_instance, o.lock_time FROM :"schema".queued_job o ORDER BY o.id LIMIT ($4::jsonb ->> 'window')::float8::int) AS w
                 WHERE w.id <> ALL (ARRAY(SELECT substr(i, 5)::int8 FROM unnest($1::text[]) AS i)))
               UNION ALL
               (SELECT o.creation_instance::text, o.creation_time FROM :"schema".queued_job o ORDER BY o.id DESC LIMIT ($4::jsonb ->> 'head')::float8::int)
               UNION ALL
               (SELECT c.instance::text, c."time" FROM :"schema".cron_last_exec c ORDER BY c.id DESC LIMIT ($4::jsonb ->> 'head')::float8::int)
               UNION ALL
               SELECT c.instance::text, c."time" FROM :"schema".cron_last_exec c WHERE (SELECT pg_relation_size(format('%I.cron_last_exec', :'schema')::regclass) <= 167772160)) AS s
        WHERE isfinite(s.at)
        GROUP BY s.instance) AS l
                    WHERE ($2::text[])[array_position($1::text[], 'job:' || q.id)] NOT LIKE '%@-:%'
                      AND l.instance = split_part(($2::text[])[array_position($1::text[], 'job:' || q.id)], '@', 1)), 'none')) AS row
  FROM :"schema".queued_job q
 WHERE q.id = ANY (ARRAY(SELECT substr(i, 5)::int8 FROM unnest($1::text[]) AS i))

-- :change
UPDATE :"schema".queued_job q SET lock_instance = NULL, lock_time = NULL
  FROM unnest($1::text[], $2::text[]) AS seen(id, version)
 WHERE q.id = substr(seen.id, 5)::int8
   AND coalesce(q.lock_time < now() - make_interval(secs => ($4::jsonb ->> 'stale')::float8), q.lock_instance IS NOT NULL)
   AND coalesce(q.lock_instance::text, '-') || '@' || coalesce(q.lock_time::text, '-') || ':' || q.xmin = seen.version
RETURNING 'job:' || q.id AS id
