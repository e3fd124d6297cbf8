-- Hold jobs of silent workers as failed, as the engine does with a failure of an entrypoint that holds them.
-- Indexes: pgqueuer_pkey, pgqueuer_log_job_id_status, pgqueuer_queue_manager_id_idx.

-- :refused
SELECT 'job:' || j.id AS id, r.why
  FROM :"schema".:"pgqueuer" j
 CROSS JOIN LATERAL (
   SELECT CASE WHEN j.status <> 'picked' THEN 'the job is ' || j.status || ', not picked'
               WHEN NOT j.heartbeat < now() - :heartbeat_timeout THEN 'its worker beat ' || date_trunc('second', now() - j.heartbeat) || ' ago: it may still run the job' END AS why) AS r
 WHERE j.id = ANY (:job_keys) AND r.why IS NOT NULL

-- :witnesses
WITH \ir ../parts/silent_worker.sql
SELECT * FROM silent_worker

-- :change
WITH changed AS (
  UPDATE :"schema".:"pgqueuer" j SET status = 'failed', updated = now(), queue_manager_id = NULL, slot = NULL
    FROM unnest(:ids, :versions) AS seen(id, version)
   WHERE j.id = substr(seen.id, 5)::int8 AND j.xmin::text = seen.version AND j.status = 'picked'
     AND j.heartbeat < now() - :heartbeat_timeout
  RETURNING j.id, j.status, j.entrypoint, j.priority
),
logged AS (
  INSERT INTO :"schema".:"pgqueuer_log" (job_id, status, entrypoint, priority)
  SELECT c.id, 'failed', c.entrypoint, c.priority FROM changed c
)
SELECT 'job:' || c.id AS id FROM changed c
