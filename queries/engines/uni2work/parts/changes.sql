-- New jobs, locks and executions by cron since :since, with a tolerance of an hour for instances whose clock is ahead.
-- cursor: JSON object with the last place of each part on the previous page, or NULL
-- Indexes: queued_job_pkey backwards, because ids are in the order of creation; one on queued_job(lock_time) if it
-- exists, else the window of the oldest jobs; one on cron_last_exec(time) if it exists, else the head of
-- cron_last_exec_pkey backwards.
changes AS (
  WITH c AS MATERIALIZED (
    SELECT to_timestamp(:since) AS since, coalesce((g.c ->> 'new')::int8, 9223372036854775807) AS new,
           coalesce(split_part(g.c ->> 'lock', '|', 1)::timestamptz, now() + interval '1 hour') AS locked,
           coalesce(split_part(g.c ->> 'lock', '|', 2)::int8, 9223372036854775807) AS locked_id,
           coalesce(split_part(g.c ->> 'cron', '|', 1)::timestamptz, now() + interval '1 hour') AS ran,
           coalesce(split_part(g.c ->> 'cron', '|', 2)::int8, 9223372036854775807) AS ran_id
      FROM (SELECT :cursor::text::jsonb AS c) AS g
  ),
  oldest AS MATERIALIZED (
    SELECT q.id, q.lock_time FROM :"schema".queued_job q WHERE NOT 'queue_by_lock_time' = ANY (:met_needs)
     ORDER BY q.id LIMIT :window::int
  ),
  locks AS (
    SELECT o.id, o.lock_time FROM oldest o
    UNION ALL
    (SELECT q.id, q.lock_time FROM :"schema".queued_job q
      WHERE 'queue_by_lock_time' = ANY (:met_needs) AND q.lock_time >= (SELECT since FROM c) AND q.lock_time <= (SELECT locked FROM c)
        AND (q.lock_time, q.id) < (SELECT locked, locked_id FROM c)
      ORDER BY q.lock_time DESC, q.id DESC LIMIT :limit)
  ),
  newest AS MATERIALIZED (
    SELECT e.id, e."time" FROM :"schema".cron_last_exec e WHERE NOT 'cron_by_time' = ANY (:met_needs)
     ORDER BY e.id DESC LIMIT :head::int
  ),
  runs AS (
    SELECT n.id, n."time" FROM newest n
    UNION ALL
    (SELECT e.id, e."time" FROM :"schema".cron_last_exec e
      WHERE 'cron_by_time' = ANY (:met_needs) AND e."time" >= (SELECT since FROM c) AND e."time" <= (SELECT ran FROM c)
        AND (e."time", e.id) < (SELECT ran, ran_id FROM c)
      ORDER BY e."time" DESC, e.id DESC LIMIT :limit)
  )
  (SELECT 'job:' || q.id AS id, extract(epoch FROM q.creation_time)::float8 AS at, 'queued' AS what, NULL::text AS old, NULL::text AS new,
          'new' AS part, q.id::text AS place, false AS routine
     FROM (SELECT q.id, q.creation_time FROM :"schema".queued_job q WHERE q.id < (SELECT c.new FROM c) ORDER BY q.id DESC LIMIT :limit) AS q
    WHERE q.creation_time >= (SELECT since FROM c) AND q.creation_time <= now() + interval '1 hour'
    ORDER BY q.id DESC)
  UNION ALL
  (SELECT 'job:' || id, extract(epoch FROM lock_time)::float8, 'locked', NULL, NULL, 'lock', lock_time || '|' || id, true
     FROM locks l CROSS JOIN c
    WHERE l.lock_time >= c.since AND (l.lock_time, l.id) < (c.locked, c.locked_id)
    ORDER BY l.lock_time DESC, l.id DESC
    LIMIT :limit)
  UNION ALL
  (SELECT 'cron:' || r.id, extract(epoch FROM r."time")::float8, 'executed', NULL, NULL, 'cron', r."time" || '|' || r.id, false
     FROM runs r CROSS JOIN c
    WHERE r."time" >= c.since AND (r."time", r.id) < (c.ran, c.ran_id)
    ORDER BY r."time" DESC, r.id DESC
    LIMIT :limit)
  UNION ALL
  SELECT NULL, NULL, 'locks are searched only in the ' || :window::int || ' oldest jobs', NULL, NULL, NULL, NULL, NULL
   WHERE (SELECT count(*) FROM oldest) = :window::int
  UNION ALL
  SELECT NULL, NULL, 'executions are searched only in the ' || :head::int || ' newest cron entries', NULL, NULL, NULL, NULL, NULL
   WHERE (SELECT count(*) FROM newest) = :head::int
)
