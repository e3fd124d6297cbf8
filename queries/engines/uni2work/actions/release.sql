-- Clear both lock columns, so that a worker of any instance can take the job. Change, or even lock with FOR UPDATE,
-- only rows whose lock is older than the threshold: the application uses SERIALIZABLE transactions, and a write to a
-- row that one of them has read makes it fail and the job run again. Instances do not reclaim each other's locks
-- (assumed). A lock without a time has no age. The application did not write it, because it sets both columns or clears
-- both. It is released at once, even if its instance is active.
-- Indexes: both ends of queued_job_pkey; all of cron_last_exec up to 160 MB, else its newest entries.

-- :lock
-- steady: the instance's last activity; old locks are none, as those to release. If it is active after the dry run, the row is
-- stale and stays unchanged.
WITH all_cron AS (SELECT pg_relation_size(format('%I.cron_last_exec', :'schema')::regclass) <= 167772160 AS few),
\ir ../parts/signs.sql
SELECT 'job:' || q.id AS id, coalesce(q.lock_instance::text, '-') || '@' || coalesce(q.lock_time::text, '-') || ':' || q.xmin AS version,
       (SELECT max(s.at)::text FROM signs s
         WHERE isfinite(s.at) AND (s.job IS NULL OR s.at >= now() - :stale) AND q.lock_time IS NOT NULL AND s.instance = q.lock_instance::text) AS steady
  FROM :"schema".queued_job q
 WHERE q.id = ANY (:job_keys) AND NOT coalesce(q.lock_time < now() - :stale, q.lock_instance IS NOT NULL)

-- :lock
WITH all_cron AS (SELECT pg_relation_size(format('%I.cron_last_exec', :'schema')::regclass) <= 167772160 AS few),
\ir ../parts/signs.sql
SELECT 'job:' || q.id AS id, coalesce(q.lock_instance::text, '-') || '@' || coalesce(q.lock_time::text, '-') || ':' || q.xmin AS version,
       (SELECT max(s.at)::text FROM signs s
         WHERE isfinite(s.at) AND (s.job IS NULL OR s.at >= now() - :stale) AND q.lock_time IS NOT NULL AND s.instance = q.lock_instance::text) AS steady
  FROM :"schema".queued_job q
 WHERE q.id = ANY (:job_keys) AND coalesce(q.lock_time < now() - :stale, q.lock_instance IS NOT NULL)
 ORDER BY q.id
   FOR UPDATE SKIP LOCKED

-- :refused
WITH all_cron AS (SELECT pg_relation_size(format('%I.cron_last_exec', :'schema')::regclass) <= 167772160 AS few),
\ir ../parts/signs.sql
, \ir ../parts/living.sql
SELECT r.id, r.why
  FROM (SELECT 'job:' || l.id AS id,
               CASE WHEN l.lock_instance IS NULL AND l.lock_time IS NULL THEN 'it is not locked, so any worker can take it' ELSE l.why END AS why
          FROM living l) AS r
 WHERE r.why IS NOT NULL

-- :witnesses
WITH asked AS MATERIALIZED (
  SELECT 'job:' || q.id AS id, q.lock_instance::text AS instance, extract(epoch FROM q.lock_time)::float8 AS since
    FROM :"schema".queued_job q
   WHERE q.id = ANY (:job_keys) AND (q.lock_instance IS NOT NULL OR q.lock_time IS NOT NULL)
),
\ir ../parts/verdicts.sql
SELECT v.id, v.witness, v.verdict, v.detail, v.since FROM verdicts v

-- :change
UPDATE :"schema".queued_job q SET lock_instance = NULL, lock_time = NULL
  FROM unnest(:ids, :versions) AS seen(id, version)
 WHERE q.id = substr(seen.id, 5)::int8
   AND coalesce(q.lock_time < now() - :stale, q.lock_instance IS NOT NULL)
   AND coalesce(q.lock_instance::text, '-') || '@' || coalesce(q.lock_time::text, '-') || ':' || q.xmin = seen.version
RETURNING 'job:' || q.id AS id
