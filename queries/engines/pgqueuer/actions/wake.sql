-- Make jobs that are scheduled for later due now.
-- Indexes: pgqueuer_pkey, pgqueuer_log_job_id_status.

-- :refused
SELECT 'job:' || j.id AS id, r.why
  FROM :"schema".:"pgqueuer" j
 CROSS JOIN LATERAL (
   SELECT CASE WHEN j.status <> 'queued' THEN 'the job is ' || j.status || ': it waits for no time'
               WHEN j.execute_after <= now() THEN 'the job is due already' END AS why) AS r
 WHERE j.id = ANY (:job_keys) AND r.why IS NOT NULL

-- :change
WITH changed AS (
  UPDATE :"schema".:"pgqueuer" j SET execute_after = now(), updated = now()
    FROM unnest(:ids, :versions) AS seen(id, version)
   WHERE j.id = substr(seen.id, 5)::int8 AND j.xmin::text = seen.version AND j.status = 'queued' AND j.execute_after > now()
  RETURNING j.id, j.status, j.entrypoint, j.priority
)
, \ir ../parts/notified.sql
SELECT 'job:' || c.id || (SELECT n.sent FROM notified n) AS id FROM changed c
