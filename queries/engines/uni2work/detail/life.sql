-- title: Activity of the instance that holds the lock
-- kinds: job holder
-- $1 id text: local id
-- $2 settings jsonb
-- Indexes: both ends of queued_job_pkey; all of cron_last_exec up to cron_whole bytes, else its newest entries.
WITH holder AS (
  SELECT CASE WHEN $1::text LIKE 'holder:%' THEN substr($1::text, 8)
              ELSE (SELECT q.lock_instance::text FROM :"schema".queued_job q
                     WHERE q.id = CASE WHEN $1::text LIKE 'job:%' THEN substr($1::text, 5)::int8 END) END AS instance
), signs AS (
  SELECT 'newest lock, among the oldest rows' AS activity, 1 AS place,
         (SELECT max(w.lock_time) FROM (SELECT q.lock_instance, q.lock_time FROM :"schema".queued_job q ORDER BY q.id LIMIT ($2::jsonb ->> 'window')::float8::int) AS w
           WHERE w.lock_instance::text = h.instance) AS at
    FROM holder h
  UNION ALL
  SELECT 'newest job it created, among the newest rows', 2,
         (SELECT max(w.creation_time) FROM (SELECT q.creation_instance, q.creation_time FROM :"schema".queued_job q ORDER BY q.id DESC LIMIT ($2::jsonb ->> 'head')::float8::int) AS w
           WHERE w.creation_instance::text = h.instance)
    FROM holder h
  UNION ALL
  SELECT 'newest cron job it executed', 3,
         greatest((SELECT max(c."time") FROM :"schema".cron_last_exec c
                    WHERE c.instance::text = h.instance AND (SELECT pg_relation_size(format('%I.cron_last_exec', :'schema')::regclass) <= ($2::jsonb ->> 'cron_whole')::float8)),
                  (SELECT max(w."time") FROM (SELECT c.instance, c."time" FROM :"schema".cron_last_exec c ORDER BY c.id DESC LIMIT ($2::jsonb ->> 'head')::float8::int) AS w
                    WHERE w.instance::text = h.instance))
    FROM holder h
)
SELECT s.activity, coalesce(s.at::text, 'not found') AS at,
       CASE WHEN isfinite(s.at) THEN date_trunc('second', now() - s.at)::text END AS ago
  FROM signs s, holder h
 WHERE h.instance NOT IN ('none', 'inconsistent')
 ORDER BY s.place
