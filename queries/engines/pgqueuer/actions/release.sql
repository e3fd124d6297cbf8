-- Give jobs of silent workers back to the queue. The engine's workers do so themselves, if one of the entrypoint runs.
-- A job that is not picked but names a worker keeps its status and gives its slot back.
-- Indexes: pgqueuer_pkey, pgqueuer_log_job_id_status, pgqueuer_queue_manager_id_idx.

-- :refused
SELECT 'job:' || j.id AS id, r.why
  FROM :"schema".:"pgqueuer" j
 CROSS JOIN LATERAL (
   SELECT CASE WHEN j.status <> 'picked' AND j.queue_manager_id IS NULL THEN 'the job is ' || j.status || ' and has no worker'
               WHEN j.status = 'picked' AND NOT j.heartbeat < now() - :heartbeat_timeout THEN 'its worker beat ' || date_trunc('second', now() - j.heartbeat) || ' ago: it may still run the job' END AS why) AS r
 WHERE j.id = ANY (:job_keys) AND r.why IS NOT NULL

-- :witnesses
WITH \ir ../parts/silent_worker.sql
SELECT * FROM silent_worker

-- :change
WITH changed AS (
  UPDATE :"schema".:"pgqueuer" j
     SET status = CASE j.status WHEN 'picked' THEN 'queued' ELSE j.status END, updated = now(), queue_manager_id = NULL, slot = NULL
    FROM unnest(:ids, :versions) AS seen(id, version), :"schema".:"pgqueuer" was
   WHERE j.id = substr(seen.id, 5)::int8 AND was.id = j.id AND j.xmin::text = seen.version
     AND CASE j.status WHEN 'picked' THEN j.heartbeat < now() - :heartbeat_timeout
                       ELSE j.queue_manager_id IS NOT NULL END
  RETURNING j.id, j.entrypoint, j.priority, was.status = 'picked' AS taken
),
logged AS (
  INSERT INTO :"schema".:"pgqueuer_log" (job_id, status, entrypoint, priority)
  SELECT c.id, 'queued', c.entrypoint, c.priority FROM changed c WHERE c.taken
)
, \ir ../parts/notified.sql
SELECT 'job:' || c.id || (SELECT n.sent FROM notified n) AS id FROM changed c
