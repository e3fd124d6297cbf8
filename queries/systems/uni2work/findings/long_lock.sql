-- Locked for long by an instance of which something much later is to be seen: the job is slow or hangs.
-- $1 ids text[]: only for these local ids, or NULL
-- $2 limits jsonb
-- $3 have text[]
-- $4 page int: how many at most
-- Indexes: queued_job_pkey, both ends, and one on queued_job(lock_time) where there is one; cron_last_exec whole up to
-- cron_whole bytes, else its newest entries by id, and by time where there is an index on that.
WITH locked AS MATERIALIZED (
  SELECT w.id, w.lock_instance, w.lock_time
    FROM (SELECT q.id, q.lock_instance, q.lock_time FROM queued_job q ORDER BY q.id LIMIT ($2::jsonb ->> 'window')::float8::int) AS w
   WHERE w.lock_instance IS NOT NULL OR w.lock_time IS NOT NULL
  UNION
  (SELECT q.id, q.lock_instance, q.lock_time FROM queued_job q
    WHERE q.lock_time IS NOT NULL AND 'queue_by_lock_time' = ANY ($3::text[])
    ORDER BY q.lock_time LIMIT ($2::jsonb ->> 'head')::float8::int)
),
life AS (
  -- The newest thing each instance has left in the database: a lock, a job it made, a cron job it executed.
  SELECT s.instance, max(s.at) AS at
    FROM (SELECT l.lock_instance::text AS instance, l.lock_time AS at FROM locked l
          UNION ALL
          (SELECT t.creation_instance::text, t.creation_time FROM queued_job t ORDER BY t.id DESC LIMIT ($2::jsonb ->> 'head')::float8::int)
          UNION ALL
          (SELECT c.instance::text, c."time" FROM cron_last_exec c ORDER BY c.id DESC LIMIT ($2::jsonb ->> 'head')::float8::int)
          UNION ALL
          (SELECT c.instance::text, c."time" FROM cron_last_exec c WHERE 'cron_by_time' = ANY ($3::text[])
            ORDER BY c."time" DESC LIMIT ($2::jsonb ->> 'head')::float8::int)
          UNION ALL
          SELECT c.instance::text, c."time" FROM cron_last_exec c WHERE (SELECT pg_relation_size('cron_last_exec') <= ($2::jsonb ->> 'cron_whole')::float8)) AS s
   WHERE isfinite(s.at)
   GROUP BY s.instance
)
(SELECT 'job:' || l.id AS id, extract(epoch FROM l.lock_time)::float8 AS since,
        jsonb_build_object('instance', l.lock_instance::text, 'lock_time', date_trunc('second', l.lock_time)::text,
                           'age', CASE WHEN isfinite(l.lock_time) THEN date_trunc('second', now() - l.lock_time)::text ELSE 'ever' END,
                           'last_life', date_trunc('second', f.at)::text,
                           'silent', date_trunc('second', now() - f.at)::text) AS evidence
   FROM locked l LEFT JOIN life f ON f.instance = l.lock_instance::text
  WHERE l.lock_instance IS NOT NULL
    AND l.lock_time < now() - make_interval(secs => ($2::jsonb ->> 'stale')::float8)
    AND f.at > l.lock_time + make_interval(secs => ($2::jsonb ->> 'stale')::float8)
    AND f.at >= now() - make_interval(secs => ($2::jsonb ->> 'silent')::float8)
    AND ($1::text[] IS NULL OR 'job:' || l.id = ANY ($1::text[]))
  ORDER BY l.lock_time, l.id
  LIMIT $4::int)
UNION ALL
SELECT NULL, NULL, NULL WHERE $1::text[] IS NULL AND NOT 'queue_by_lock_time' = ANY ($3::text[])
   AND EXISTS (SELECT FROM queued_job ORDER BY id OFFSET ($2::jsonb ->> 'window')::float8::int)
