-- Release locks of one instance: the oldest 500 that are older than the threshold, within the searched rows. The version
-- covers all its locks: if a lock was added or removed since, the instance is active and nothing is changed.
-- Newer locks are neither changed nor locked with FOR UPDATE; release.sql says why.
-- $1 ids text[]: local ids
-- $2 versions text[]: version of each node that the operator saw: digest of its locks
-- $3 args jsonb: gone: the operator confirms that the instance is no longer running
-- $4 settings jsonb
-- $5 met_needs text[]
-- Indexes: both ends of queued_job_pkey, and one on queued_job(lock_time) if it exists; all of cron_last_exec up to
-- 160 MB, else its newest entries.

-- :lock
-- Return a holder only if every row to release was locked here. One row locked by another transaction makes it locked.
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
  -- Keep the row ids for the statements below: after the change, no row shows which instance had locked it.
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
-- `none` and `inconsistent` are not instances: refuse them below.
SELECT i AS id, v AS version FROM unnest($1::text[], $2::text[]) AS s(i, v) WHERE i IN ('holder:none', 'holder:inconsistent')

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
               CASE WHEN i IN ('holder:none', 'holder:inconsistent') THEN 'it is not an instance. Release its jobs one by one'
                    WHEN NOT EXISTS (SELECT FROM locked k WHERE 'holder:' || k.lock_instance = i
                                        AND k.lock_time < now() - make_interval(secs => ($4::jsonb ->> 'stale')::float8))
                      THEN 'none of its locks is older than ' || make_interval(secs => ($4::jsonb ->> 'stale')::float8) || '. The instance may be running jobs, and a write would abort their transactions'
                    WHEN NOT coalesce(($3::jsonb ->> 'gone')::bool, false)
                      THEN 'confirm with gone that the instance is no longer running. If it is running, its jobs run twice'
                    WHEN l.at >= now() - make_interval(secs => ($4::jsonb ->> 'stale')::float8)
                      THEN 'it was active at ' || date_trunc('second', l.at) || ', so it is not gone'
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

-- :witnesses
WITH asked AS MATERIALIZED (
  SELECT i AS id, substr(i, 8) AS instance, NULL::float8 AS since FROM unnest($1::text[]) AS i
   WHERE i NOT IN ('holder:none', 'holder:inconsistent')
),
\ir ../parts/instance_witnesses.sql

-- :rows
-- Include the instance's last activity elsewhere. If it is active after the dry run, the rows are stale and stay unchanged.
SELECT 'holder:' || h.instance AS id, 'queued_job' AS "table", q.id::text AS key,
       to_jsonb(q) - 'content' || jsonb_build_object('content', left(q.content::text, 500)) AS row
  FROM jsonb_each_text(nullif(current_setting('unstick.held', true), '')::jsonb) AS h(id, instance) JOIN :"schema".queued_job q ON q.id = h.id::int8
UNION ALL
SELECT i, 'activity', i, jsonb_build_object('last', coalesce(date_trunc('second', l.at)::text, 'none'))
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
