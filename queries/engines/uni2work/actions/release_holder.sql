-- The locks of one instance go, the oldest 500 of those past the threshold, as far as they can be found. What the
-- operator saw is the set of all its locks: where one has come or gone since, the instance lives and nothing is done.
-- Younger locks are neither changed nor locked (FOR UPDATE): see the action for one job.
-- $1 ids text[]: local ids
-- $2 versions text[]: what the operator saw of each: a digest of its locks
-- $3 args jsonb: gone: the operator's word that the instance is not running any more
-- $4 limits jsonb
-- $5 have text[]
-- Indexes: queued_job_pkey, both ends, and one on queued_job(lock_time) where there is one; cron_last_exec whole up to
-- 160 MB, else its newest entries.

-- :lock
-- A holder counts as locked when every one of the rows to be released is; one that somebody holds makes it busy.
WITH locked AS MATERIALIZED (
  SELECT w.id, w.lock_instance, w.lock_time
    FROM (SELECT o.id, o.lock_instance, o.lock_time FROM :"schema".queued_job o ORDER BY o.id LIMIT ($4::jsonb ->> 'window')::float8::int) AS w
   WHERE w.lock_instance IS NOT NULL AND w.lock_time IS NOT NULL
  UNION
  (SELECT o.id, o.lock_instance, o.lock_time FROM :"schema".queued_job o
    WHERE o.lock_time IS NOT NULL AND o.lock_instance IS NOT NULL AND 'queue_by_lock_time' = ANY ($5::text[])
    ORDER BY o.lock_time LIMIT ($4::jsonb ->> 'head')::float8::int)
), held AS MATERIALIZED (
  SELECT q.id, q.lock_instance
    FROM :"schema".queued_job q
   WHERE q.id = ANY (ARRAY(SELECT d.id FROM (SELECT l.id, row_number() OVER (PARTITION BY l.lock_instance ORDER BY l.id) AS n
                        FROM locked l
                       WHERE 'holder:' || l.lock_instance = ANY ($1::text[])
                         AND l.lock_time < now() - make_interval(secs => ($4::jsonb ->> 'stale')::float8)) AS d
               WHERE d.n <= 500))
     AND 'holder:' || q.lock_instance = ANY ($1::text[])
     AND q.lock_time < now() - make_interval(secs => ($4::jsonb ->> 'stale')::float8)
   ORDER BY q.id
     FOR UPDATE SKIP LOCKED
), kept AS MATERIALIZED (
  -- Which rows these are is told to the statements that follow: afterwards no row says any more who had locked it.
  SELECT set_config('unstick.held', coalesce(jsonb_object_agg(h.id, h.lock_instance)::text, '{}'), true) FROM held h
)
SELECT 'holder:' || l.lock_instance AS id,
       md5(string_agg(l.id || '@' || l.lock_time, ' ' ORDER BY l.id)) AS version
  FROM locked l CROSS JOIN kept
 WHERE 'holder:' || l.lock_instance = ANY ($1::text[])
 GROUP BY l.lock_instance
HAVING least(500, count(*) FILTER (WHERE l.lock_time < now() - make_interval(secs => ($4::jsonb ->> 'stale')::float8)))
       = (SELECT count(*) FROM held h WHERE h.lock_instance = l.lock_instance)

-- :lock
-- Neither `none` nor `half` is an instance: they are refused below.
SELECT i AS id, v AS version FROM unnest($1::text[], $2::text[]) AS s(i, v) WHERE i IN ('holder:none', 'holder:half')

-- :refused
WITH locked AS MATERIALIZED (
  SELECT w.id, w.lock_instance, w.lock_time
    FROM (SELECT o.id, o.lock_instance, o.lock_time FROM :"schema".queued_job o ORDER BY o.id LIMIT ($4::jsonb ->> 'window')::float8::int) AS w
   WHERE w.lock_instance IS NOT NULL AND w.lock_time IS NOT NULL
  UNION
  (SELECT o.id, o.lock_instance, o.lock_time FROM :"schema".queued_job o
    WHERE o.lock_time IS NOT NULL AND o.lock_instance IS NOT NULL AND 'queue_by_lock_time' = ANY ($5::text[])
    ORDER BY o.lock_time LIMIT ($4::jsonb ->> 'head')::float8::int)
)
SELECT r.id, r.why
  FROM (SELECT i AS id,
               CASE WHEN i IN ('holder:none', 'holder:half') THEN 'it is no instance: release its jobs one by one'
                    WHEN NOT EXISTS (SELECT FROM locked k WHERE 'holder:' || k.lock_instance = i
                                        AND k.lock_time < now() - make_interval(secs => ($4::jsonb ->> 'stale')::float8))
                      THEN 'none of its locks is older than ' || make_interval(secs => ($4::jsonb ->> 'stale')::float8) || ': it may be at work, and a write would break off its transactions'
                    WHEN NOT coalesce(($3::jsonb ->> 'gone')::bool, false)
                      THEN 'say (gone) that the instance is not running any more: a living one would do its jobs a second time'
                    WHEN l.at >= now() - make_interval(secs => ($4::jsonb ->> 'stale')::float8)
                      THEN 'it showed life at ' || date_trunc('second', l.at) || ': it is not gone'
               END AS why
          FROM unnest($1::text[]) AS i
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
        GROUP BY s.instance) AS l ON 'holder:' || l.instance = i) AS r
 WHERE r.why IS NOT NULL

-- :rows
-- The last sign of life that the instance has given elsewhere: if one comes up after the dry run, nothing is changed.
SELECT 'holder:' || h.instance AS id, 'queued_job' AS "table", q.id::text AS key,
       to_jsonb(q) - 'content' || jsonb_build_object('content', left(q.content::text, 500)) AS row
  FROM jsonb_each_text(nullif(current_setting('unstick.held', true), '')::jsonb) AS h(id, instance) JOIN :"schema".queued_job q ON q.id = h.id::int8
UNION ALL
SELECT i, 'sign of life', i, jsonb_build_object('last', coalesce(date_trunc('second', l.at)::text, 'none seen'))
  FROM unnest($1::text[]) AS i
  LEFT JOIN (SELECT s.instance, max(s.at) AS at
         FROM ((SELECT w.lock_instance::text AS instance, w.lock_time AS at
                  FROM (SELECT o.id, o.lock_instance, o.lock_time FROM :"schema".queued_job o ORDER BY o.id LIMIT ($4::jsonb ->> 'window')::float8::int) AS w
                 WHERE NOT (coalesce(nullif(current_setting('unstick.held', true), ''), '{}')::jsonb ? w.id::text))
               UNION ALL
               (SELECT o.creation_instance::text, o.creation_time FROM :"schema".queued_job o ORDER BY o.id DESC LIMIT ($4::jsonb ->> 'head')::float8::int)
               UNION ALL
               (SELECT c.instance::text, c."time" FROM :"schema".cron_last_exec c ORDER BY c.id DESC LIMIT ($4::jsonb ->> 'head')::float8::int)
               UNION ALL
               SELECT c.instance::text, c."time" FROM :"schema".cron_last_exec c WHERE (SELECT pg_relation_size(format('%I.cron_last_exec', :'schema')::regclass) <= 167772160)) AS s
        WHERE isfinite(s.at)
        GROUP BY s.instance) AS l ON 'holder:' || l.instance = i

-- :change
WITH released AS (
  UPDATE :"schema".queued_job q SET lock_instance = NULL, lock_time = NULL
    FROM jsonb_each_text(nullif(current_setting('unstick.held', true), '')::jsonb) AS h(id, instance)
   WHERE q.id = h.id::int8
     AND q.lock_instance::text = h.instance
     AND 'holder:' || h.instance = ANY ($1::text[])
     AND q.lock_time < now() - make_interval(secs => ($4::jsonb ->> 'stale')::float8)
  RETURNING h.instance
)
SELECT DISTINCT 'holder:' || r.instance AS id FROM released r
