-- Give jobs of dead workers back to the queue, as the engine's procrastinate_retry_job_v2 does. That function makes a
-- job that is to be aborted failed instead; here it is refused.
-- Indexes: procrastinate_jobs_pkey, procrastinate_events_job_id_fkey_v1, procrastinate_jobs_queueing_lock_idx_v1, procrastinate_workers_pkey.

\ir ../parts/refusals.sql
                    WHEN j.status <> 'doing' THEN 'the job is ' || j.status || ': no worker holds it'
                    WHEN w.last_heartbeat >= now() - :worker_silent THEN 'its worker ' || w.id || ' beat ' || date_trunc('second', now() - w.last_heartbeat) || ' ago: it may still run the job'
                    WHEN j.abort_requested THEN 'it is to be aborted: mark it failed, as the engine would'
                    WHEN q.id IS NOT NULL THEN 'the job ' || q.id || ' has the same queueing lock, and only one may wait' END AS why
          FROM :"schema".procrastinate_jobs j
          LEFT JOIN :"schema".procrastinate_workers w ON w.id = j.worker_id
\ir ../parts/queued.sql
\ir ../parts/refused.sql

-- :witnesses
\ir ../parts/dead_worker.sql

-- :change
WITH changed AS (
  UPDATE :"schema".procrastinate_jobs j SET status = 'todo', attempts = j.attempts + 1, scheduled_at = now()
    FROM unnest(:ids, :versions) AS seen(id, version)
   WHERE j.id = substr(seen.id, 5)::int8 AND j.xmin::text = seen.version AND j.status = 'doing' AND NOT j.abort_requested
     AND NOT EXISTS (SELECT FROM :"schema".procrastinate_workers w WHERE w.id = j.worker_id AND w.last_heartbeat >= now() - :worker_silent)
  RETURNING j.id, j.queue_name
)
\ir ../parts/notified.sql
