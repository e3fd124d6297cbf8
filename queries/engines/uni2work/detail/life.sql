-- title: Activity of the instance that holds the lock
-- kinds: job holder
-- Indexes: queued_job_pkey, and those of the included part.
WITH holder AS (
  SELECT CASE WHEN :id LIKE 'holder:%' THEN substr(:id, 8)
              ELSE (SELECT q.lock_instance::text FROM :"schema".queued_job q
                     WHERE q.id = CASE WHEN :id LIKE 'job:%' THEN substr(:id, 5)::int8 END) END AS instance
),
all_cron AS (SELECT pg_relation_size(format('%I.cron_last_exec', :'schema')::regclass) <= :cron_whole AS few),
\ir ../parts/signs.sql
SELECT k.activity, coalesce(max(s.at)::text, 'not found') AS at,
       CASE WHEN isfinite(max(s.at)) THEN date_trunc('second', now() - max(s.at)) || ' ago' END AS seen
  FROM holder h
 CROSS JOIN (VALUES (1, 'locks', 'newest lock, among the oldest and the newest rows'), (2, 'queued jobs', 'newest job it created, among the newest rows'),
                    (3, 'cron executions', 'newest cron job it executed')) AS k(place, what, activity)
  LEFT JOIN signs s ON s.what = k.what AND s.instance = h.instance
 WHERE h.instance NOT IN ('none', 'inconsistent')
 GROUP BY k.place, k.activity
 ORDER BY k.place
