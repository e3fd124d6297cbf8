-- A lock goes, both columns together: a worker of any instance may take the row then. Only a lock past the threshold is
-- touched, and even locked (FOR UPDATE): the application works in SERIALIZABLE transactions, and a write to a row that
-- one of them has read makes it fail, so that its job runs again. Instances do not reclaim each other's locks (assumed).
-- A lock without a time has no age, and no instance took it: the application writes both columns or neither. It goes at
-- once, whatever else its instance does.
-- $1 ids text[]: local ids
-- $2 versions text[]: what the operator saw of each: instance, time, and who wrote the row
-- $3 args jsonb: gone: the operator's word that the instance is not running any more
-- $4 limits jsonb
-- Indexes: queued_job_pkey, both ends; cron_last_exec whole up to 160 MB, else its newest entries.

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
               CASE WHEN q.lock_instance IS NULL AND q.lock_time IS NULL THEN 'it is not locked: any worker may take it'
                    WHEN NOT coalesce(q.lock_time < now() - make_interval(secs => ($4::jsonb ->> 'stale')::float8), q.lock_instance IS NOT NULL)
                      THEN 'its lock is younger than ' || make_interval(secs => ($4::jsonb ->> 'stale')::float8) || ': a worker may be at it, and a write would break off its transaction'
                    WHEN NOT coalesce(($3::jsonb ->> 'gone')::bool, false)
                      THEN 'say (gone) that ' || coalesce('the instance ' || q.lock_instance, 'whoever locked it') || ' is not running any more: a living one would do the job a second time'
                    WHEN q.lock_time IS NOT NULL AND l.at >= now() - make_interval(secs => ($4::jsonb ->> 'stale')::float8)
                      THEN 'the instance ' || q.lock_instance || ' showed life at ' || date_trunc('second', l.at) || ': it is not gone'
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

-- :rows
-- The last sign of life that the instance has given elsewhere counts as part of the row: if one comes up after the dry run, nothing is changed.
SELECT 'job:' || q.id AS id, 'queued_job' AS "table", q.id::text AS key,
       to_jsonb(q) - 'content' || jsonb_build_object('content', left(q.content::text, 2000), 'last sign of life',
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
                      AND l.instance = split_part(($2::text[])[array_position($1::text[], 'job:' || q.id)], '@', 1)), 'none seen')) AS row
  FROM :"schema".queued_job q
 WHERE q.id = ANY (ARRAY(SELECT substr(i, 5)::int8 FROM unnest($1::text[]) AS i))

-- :change
UPDATE :"schema".queued_job q SET lock_instance = NULL, lock_time = NULL
  FROM unnest($1::text[], $2::text[]) AS seen(id, version)
 WHERE q.id = substr(seen.id, 5)::int8
   AND coalesce(q.lock_time < now() - make_interval(secs => ($4::jsonb ->> 'stale')::float8), q.lock_instance IS NOT NULL)
   AND coalesce(q.lock_instance::text, '-') || '@' || coalesce(q.lock_time::text, '-') || ':' || q.xmin = seen.version
RETURNING 'job:' || q.id AS id
