-- Locks among the oldest rows, or all locks if an index serves them; and each instance's last activity.
locked AS MATERIALIZED (
  SELECT w.id, w.lock_instance, w.lock_time
    FROM (SELECT q.id, q.lock_instance, q.lock_time FROM :"schema".queued_job q ORDER BY q.id LIMIT ($2::jsonb ->> 'window')::float8::int) AS w
   WHERE w.lock_instance IS NOT NULL OR w.lock_time IS NOT NULL
  UNION
  (SELECT q.id, q.lock_instance, q.lock_time FROM :"schema".queued_job q
    WHERE q.lock_time IS NOT NULL AND 'queue_by_lock_time' = ANY ($3::text[])
    ORDER BY q.lock_time LIMIT ($2::jsonb ->> 'head')::float8::int)
),
life AS (
  -- Last activity of each instance in the database: a lock, a job it created, or a cron job it executed.
  SELECT s.instance, max(s.at) AS at
    FROM (SELECT l.lock_instance::text AS instance, l.lock_time AS at FROM locked l
          UNION ALL
          (SELECT t.creation_instance::text, t.creation_time FROM :"schema".queued_job t ORDER BY t.id DESC LIMIT ($2::jsonb ->> 'head')::float8::int)
          UNION ALL
          (SELECT c.instance::text, c."time" FROM :"schema".cron_last_exec c ORDER BY c.id DESC LIMIT ($2::jsonb ->> 'head')::float8::int)
          UNION ALL
          (SELECT c.instance::text, c."time" FROM :"schema".cron_last_exec c WHERE 'cron_by_time' = ANY ($3::text[])
            ORDER BY c."time" DESC LIMIT ($2::jsonb ->> 'head')::float8::int)
          UNION ALL
          SELECT c.instance::text, c."time" FROM :"schema".cron_last_exec c WHERE (SELECT pg_relation_size(format('%I.cron_last_exec', :'schema')::regclass) <= ($2::jsonb ->> 'cron_whole')::float8)) AS s
   WHERE isfinite(s.at)
   GROUP BY s.instance
)
