-- Queue held failures again, as the engine's requeue does; their slots, if any, are given back, too.
-- Indexes: pgqueuer_pkey, pgqueuer_log_job_id_status, pgqueuer_unique_dedupe_key.

-- :refused
SELECT 'job:' || j.id AS id, r.why
  FROM (SELECT k.id, k.status, -- and the job that has the dedupe key, or that comes before it in this action
               coalesce((SELECT t.id FROM :"schema".:"pgqueuer" t
                          WHERE t.status IN ('queued', 'picked') AND t.dedupe_key IS NOT NULL AND t.dedupe_key = k.dedupe_key AND t.id <> k.id LIMIT 1),
                        CASE WHEN k.dedupe_key IS NOT NULL THEN nullif(min(k.id) OVER (PARTITION BY k.dedupe_key), k.id) END) AS other
          FROM :"schema".:"pgqueuer" k
         WHERE k.id = ANY (:job_keys)) AS j
 CROSS JOIN LATERAL (
   SELECT CASE WHEN j.status <> 'failed' THEN 'the job is ' || j.status || ', not failed'
               WHEN j.other IS NOT NULL THEN 'the job ' || j.other || ' has the same dedupe key, and only one may wait or run' END AS why) AS r
 WHERE r.why IS NOT NULL

-- :change
WITH changed AS (
  UPDATE :"schema".:"pgqueuer" j SET status = 'queued', execute_after = now(), updated = now(), attempts = 0, queue_manager_id = NULL, slot = NULL
    FROM unnest(:ids, :versions) AS seen(id, version)
   WHERE j.id = substr(seen.id, 5)::int8 AND j.xmin::text = seen.version AND j.status = 'failed'
  RETURNING j.id, j.status, j.entrypoint, j.priority
),
logged AS (
  INSERT INTO :"schema".:"pgqueuer_log" (job_id, status, entrypoint, priority)
  SELECT c.id, 'queued', c.entrypoint, c.priority FROM changed c
)
, \ir ../parts/notified.sql
SELECT 'job:' || c.id || (SELECT n.sent FROM notified n) AS id FROM changed c
