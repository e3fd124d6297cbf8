-- Delete a job that is not locked, or whose instance is gone. A row with a younger lock is neither changed nor locked
-- with FOR UPDATE: deleting it would not stop the worker, but would abort the worker's SERIALIZABLE transaction, so
-- that the job's work is repeated.

-- :lock
WITH held AS MATERIALIZED (
  SELECT q.*, q.xmin AS row_version FROM :"schema".queued_job q
   WHERE q.id = ANY (:job_keys) AND q.lock_time >= now() - :stale
),
\ir ../parts/versions.sql
SELECT v.id, v.version, v.unchanged, v.steady FROM versions v

-- :lock
WITH held AS MATERIALIZED (
  SELECT q.*, q.xmin AS row_version FROM :"schema".queued_job q
   WHERE q.id = ANY (:job_keys) AND (q.lock_time < now() - :stale) IS NOT FALSE
   ORDER BY q.id FOR UPDATE SKIP LOCKED
),
\ir ../parts/versions.sql
SELECT v.id, v.version, v.unchanged, v.steady FROM versions v

-- :refused
WITH all_cron AS (SELECT pg_relation_size(format('%I.cron_last_exec', :'schema')::regclass) <= :cron_whole AS few),
\ir ../parts/signs.sql
, \ir ../parts/living.sql
SELECT 'job:' || l.id AS id, l.why, l.lock_time >= now() - :stale AS for_now FROM living l WHERE l.why IS NOT NULL

-- :witnesses
WITH asked AS MATERIALIZED (
  SELECT 'job:' || q.id AS id, q.lock_instance::text AS instance, extract(epoch FROM q.lock_time)::float8 AS since
    FROM :"schema".queued_job q
   WHERE q.id = ANY (:job_keys) AND (q.lock_instance IS NOT NULL OR q.lock_time IS NOT NULL)
),
\ir ../parts/verdicts.sql
SELECT v.id, v.witness, v.verdict, v.detail, v.since FROM verdicts v

-- :change
DELETE FROM :"schema".queued_job q
 USING unnest(:ids, :versions) AS seen(id, version)
 WHERE q.id = substr(seen.id, 5)::int8
   AND (q.lock_time < now() - :stale) IS NOT FALSE
   AND (q.lock_instance IS NULL AND q.lock_time IS NULL OR coalesce((:args ->> 'gone')::bool, false))
   AND coalesce(q.lock_instance::text, '-') || '@' || coalesce(q.lock_time::text, '-') || ':' || q.xmin = seen.version
RETURNING 'job:' || q.id AS id
