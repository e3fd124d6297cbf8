-- Find old locks of instances that show no later activity, or none for a very long time.
-- kinds: job
-- $1 ids text[]: restrict to these local ids; NULL for all
-- $2 settings jsonb
-- $3 met_needs text[]
-- $4 page int: maximum number of rows
-- Indexes: both ends of queued_job_pkey, and one on queued_job(lock_time) if it exists; all of cron_last_exec up to
-- cron_whole bytes, else its newest entries by id, and by time if an index on it exists.
WITH
\ir ../parts/locks.sql
(SELECT 'job:' || l.id AS id, extract(epoch FROM l.lock_time)::float8 AS since,
        jsonb_build_object('instance', l.lock_instance::text, 'lock_time', date_trunc('second', l.lock_time)::text,
                           'age', CASE WHEN isfinite(l.lock_time) THEN date_trunc('second', now() - l.lock_time)::text ELSE 'ever' END,
                           'last_life', date_trunc('second', f.at)::text,
                           'silent', date_trunc('second', now() - f.at)::text) AS evidence
   FROM locked l LEFT JOIN life f ON f.instance = l.lock_instance::text
  WHERE l.lock_instance IS NOT NULL
    AND l.lock_time < now() - make_interval(secs => ($2::jsonb ->> 'stale')::float8)
    AND (f.at IS NULL OR f.at <= l.lock_time + make_interval(secs => ($2::jsonb ->> 'stale')::float8)
         OR f.at < now() - make_interval(secs => ($2::jsonb ->> 'silent')::float8))
    AND ($1::text[] IS NULL OR 'job:' || l.id = ANY ($1::text[]))
  ORDER BY l.lock_time, l.id
  LIMIT $4::int)
UNION ALL
SELECT NULL, NULL, NULL WHERE $1::text[] IS NULL AND NOT 'queue_by_lock_time' = ANY ($3::text[])
   AND EXISTS (SELECT FROM :"schema".queued_job ORDER BY id OFFSET ($2::jsonb ->> 'window')::float8::int)
