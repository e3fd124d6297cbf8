-- Delete held failures, and log that. The engine's trigger notifies of the deletion.
-- Indexes: pgqueuer_pkey, pgqueuer_log_job_id_status.

-- :refused
SELECT 'job:' || j.id AS id, 'the job is ' || j.status || ': only a held failure can be deleted' AS why
  FROM :"schema".:"pgqueuer" j
 WHERE j.id = ANY (:job_keys) AND j.status <> 'failed'

-- :change
WITH changed AS (
  DELETE FROM :"schema".:"pgqueuer" j
   USING unnest(:ids, :versions) AS seen(id, version)
   WHERE j.id = substr(seen.id, 5)::int8 AND j.xmin::text = seen.version AND j.status = 'failed'
  RETURNING j.id, j.entrypoint, j.priority
),
logged AS (
  INSERT INTO :"schema".:"pgqueuer_log" (job_id, status, entrypoint, priority)
  SELECT c.id, 'deleted', c.entrypoint, c.priority FROM changed c
)
SELECT 'job:' || c.id AS id FROM changed c
