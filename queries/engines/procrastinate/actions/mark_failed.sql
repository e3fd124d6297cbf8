-- Set jobs of dead workers to failed, as the engine's procrastinate_finish_job_v1 does.
-- Indexes: procrastinate_jobs_pkey, procrastinate_events_job_id_fkey_v1, procrastinate_workers_pkey.

-- :refused
SELECT 'job:' || j.id AS id, r.why
  FROM :"schema".procrastinate_jobs j
  LEFT JOIN :"schema".procrastinate_workers w ON w.id = j.worker_id
 CROSS JOIN LATERAL (
   SELECT CASE WHEN j.status <> 'doing' THEN 'the job is ' || j.status || ', not doing'
               WHEN w.last_heartbeat >= now() - :worker_silent THEN 'its worker ' || w.id || ' beat ' || date_trunc('second', now() - w.last_heartbeat) || ' ago: it may still run the job' END AS why) AS r
 WHERE j.id = ANY (:job_keys) AND r.why IS NOT NULL

-- :witnesses
WITH \ir ../parts/dead_worker.sql
SELECT * FROM dead_worker

-- :change
UPDATE :"schema".procrastinate_jobs j SET status = 'failed', attempts = j.attempts + 1, abort_requested = false
  FROM unnest(:ids, :versions) AS seen(id, version)
 WHERE j.id = substr(seen.id, 5)::int8 AND j.xmin::text = seen.version AND j.status = 'doing'
   AND NOT EXISTS (SELECT FROM :"schema".procrastinate_workers w WHERE w.id = j.worker_id AND w.last_heartbeat >= now() - :worker_silent)
RETURNING 'job:' || j.id AS id
