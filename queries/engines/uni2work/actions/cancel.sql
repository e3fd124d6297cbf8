-- Delete a job that is not locked, or whose instance is gone. A row with a younger lock is neither changed nor locked with FOR
-- UPDATE: deleting it would not stop the worker, but would abort the worker's SERIALIZABLE transaction, so that the job's work is
-- repeated.

-- :lock
\ir ../parts/versions.sql
   AND q.lock_time >= now() - :stale

-- :lock
\ir ../parts/versions.sql
   AND (q.lock_time < now() - :stale) IS NOT FALSE
 ORDER BY q.id
   FOR UPDATE OF q SKIP LOCKED

-- :refused
WITH whole AS (SELECT :cron_whole AS bytes),
\ir ../parts/signs.sql
SELECT r.id, r.why, r.for_now
  FROM (SELECT 'job:' || q.id AS id, q.lock_time >= now() - :stale AS for_now,
               CASE
\ir ../parts/lost_instance.sql

-- :change
DELETE FROM :"schema".queued_job q
 USING unnest(:ids, :versions) AS seen(id, version)
 WHERE q.id = substr(seen.id, 5)::int8
   AND (q.lock_time < now() - :stale) IS NOT FALSE
   AND (q.lock_instance IS NULL AND q.lock_time IS NULL OR coalesce((:args ->> 'gone')::bool, false))
   AND coalesce(q.lock_instance::text, '-') || '@' || coalesce(q.lock_time::text, '-') || ':' || q.xmin = seen.version
RETURNING 'job:' || q.id AS id
