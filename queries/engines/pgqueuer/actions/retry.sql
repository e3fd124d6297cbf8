-- Queue held failures again, as the engine's requeue does; their slots, if any, are given back, too.
-- Indexes: pgqueuer_pkey, pgqueuer_log_job_id_status, pgqueuer_unique_dedupe_key.

\ir ../parts/refusals.sql
                    WHEN j.status <> 'failed' THEN 'the job is ' || j.status || ', not failed'
                    WHEN q.id IS NOT NULL THEN 'the job ' || q.id || ' has the same dedupe key, and only one may wait or run' END AS why
          FROM :"schema".:"pgqueuer" j
          LEFT JOIN LATERAL (
\ir ../parts/keyed.sql
               ) AS q ON true
         WHERE j.id = ANY (:job_keys)) AS r
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
\ir ../parts/notified.sql
