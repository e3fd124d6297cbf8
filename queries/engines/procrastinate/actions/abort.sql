-- Ask the workers of running jobs to stop them, as the engine's procrastinate_cancel_job_v1 does. The engine's trigger notifies
-- them. A worker that is dead cannot be asked.
-- Indexes: procrastinate_jobs_pkey, procrastinate_events_job_id_fkey_v1, procrastinate_workers_pkey.

\ir ../parts/refusals.sql
                    WHEN j.status <> 'doing' THEN 'the job is ' || j.status || ', not doing'
                    WHEN j.abort_requested THEN 'its worker has been asked already'
                    WHEN w.last_heartbeat >= now() - :worker_silent THEN NULL
                    WHEN true THEN 'its worker is dead, so no one sees the request: release the job, or mark it failed' END AS why
          FROM :"schema".procrastinate_jobs j
          LEFT JOIN :"schema".procrastinate_workers w ON w.id = j.worker_id
\ir ../parts/refused.sql

-- :change
UPDATE :"schema".procrastinate_jobs j SET abort_requested = true
  FROM unnest(:ids, :versions) AS seen(id, version)
 WHERE j.id = substr(seen.id, 5)::int8 AND j.xmin::text = seen.version AND j.status = 'doing' AND NOT j.abort_requested AND EXISTS (SELECT FROM :"schema".procrastinate_workers w WHERE w.id = j.worker_id AND w.last_heartbeat >= now() - :worker_silent)
RETURNING 'job:' || j.id AS id
