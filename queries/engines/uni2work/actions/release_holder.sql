-- Release locks of one instance: the oldest 500 that are older than the threshold, within the searched rows. The
-- version covers all its locks: if a lock was added or removed since, the instance is active and nothing is changed.
-- Newer locks are neither changed nor locked with FOR UPDATE; release.sql says why.
-- versions: version of each node that the operator saw: digest of its locks
-- Indexes: both ends of queued_job_pkey, and one on queued_job(lock_time) if it exists; all of cron_last_exec up to 160
-- MB, else its newest entries.

-- :lock
-- steady: the instance's last activity elsewhere. If it is active after the dry run, the rows are stale and stay unchanged.
-- Return a holder only if every row to release was locked here. One row locked by another transaction makes it locked.
WITH all_cron AS (SELECT pg_relation_size(format('%I.cron_last_exec', :'schema')::regclass) <= 167772160 AS few),
\ir ../parts/signs.sql
, \ir ../parts/locked.sql
, \ir ../parts/holder_versions.sql
, held AS MATERIALIZED (
  SELECT q.id, q.lock_instance
    FROM :"schema".queued_job q
   WHERE q.id = ANY (ARRAY(SELECT d.id FROM (SELECT l.id, row_number() OVER (PARTITION BY l.lock_instance ORDER BY l.id) AS n
                        FROM locked l
                       WHERE 'holder:' || l.lock_instance = ANY (:ids)
                         AND l.lock_time < now() - :stale) AS d
               WHERE d.n <= 500))
     AND 'holder:' || q.lock_instance = ANY (:ids)
     AND q.lock_time < now() - :stale
   ORDER BY q.id
     FOR UPDATE SKIP LOCKED
), kept AS MATERIALIZED (
  -- Keep the row ids for the statements below: after the change, no row shows which instance had locked it.
  SELECT set_config('unstick.held', coalesce(jsonb_object_agg(h.id, h.lock_instance)::text, '{}'), true) FROM held h
)
SELECT v.id, v.version,
       (SELECT max(s.at)::text FROM signs s
         WHERE isfinite(s.at) AND (s.job IN (SELECT h.id FROM held h)) IS NOT TRUE AND 'holder:' || s.instance = v.id) AS steady
  FROM holder_versions v CROSS JOIN kept
 WHERE v.old = (SELECT count(*) FROM held h WHERE 'holder:' || h.lock_instance = v.id)

-- :lock
-- `none` and `inconsistent` are not instances: refuse them below.
SELECT i AS id, v AS version FROM unnest(:ids, :versions) AS s(i, v) WHERE i IN ('holder:none', 'holder:inconsistent')

-- :refused
WITH all_cron AS (SELECT pg_relation_size(format('%I.cron_last_exec', :'schema')::regclass) <= 167772160 AS few),
\ir ../parts/signs.sql
, \ir ../parts/locked.sql
SELECT r.id, r.why
  FROM (SELECT i AS id,
               CASE WHEN i IN ('holder:none', 'holder:inconsistent') THEN 'it is not an instance. Release its jobs one by one'
                    WHEN NOT EXISTS (SELECT FROM locked k WHERE 'holder:' || k.lock_instance = i
                                        AND k.lock_time < now() - :stale)
                      THEN 'none of its locks is older than ' || :stale || '. The instance may be running jobs, and a write would abort their transactions'
                    WHEN NOT coalesce((:args ->> 'gone')::bool, false)
                      THEN 'confirm with gone that the instance is no longer running. If it is running, its jobs run twice'
                    WHEN l.at >= now() - :stale
                      THEN 'it was active at ' || date_trunc('second', l.at) || ', so it is not gone'
               END AS why
          FROM unnest(:ids) AS i
          LEFT JOIN (SELECT s.instance, max(s.at) AS at FROM signs s WHERE isfinite(s.at) GROUP BY s.instance) AS l ON 'holder:' || l.instance = i) AS r
 WHERE r.why IS NOT NULL

-- :witnesses
WITH asked AS MATERIALIZED (
  SELECT i AS id, substr(i, 8) AS instance, NULL::float8 AS since FROM unnest(:ids) AS i
   WHERE i NOT IN ('holder:none', 'holder:inconsistent')
),
\ir ../parts/verdicts.sql
SELECT v.id, v.witness, v.verdict, v.detail, v.since FROM verdicts v

-- :change
WITH \ir ../parts/locked.sql
, \ir ../parts/holder_versions.sql
, released AS (
  UPDATE :"schema".queued_job q SET lock_instance = NULL, lock_time = NULL
    FROM jsonb_each_text(nullif(current_setting('unstick.held', true), '')::jsonb) AS h(id, instance)
   WHERE q.id = h.id::int8
     AND q.lock_instance::text = h.instance
     AND 'holder:' || h.instance IN (SELECT v.id FROM holder_versions v WHERE (v.id, v.version) IN (SELECT * FROM unnest(:ids, :versions)))
     AND q.lock_time < now() - :stale
  RETURNING h.instance
)
SELECT DISTINCT 'holder:' || r.instance AS id FROM released r
