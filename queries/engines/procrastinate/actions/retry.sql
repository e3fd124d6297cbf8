-- Run failed jobs again, as the engine's procrastinate_retry_job_v2 does.
-- Indexes: procrastinate_jobs_pkey, procrastinate_events_job_id_fkey_v1, procrastinate_jobs_queueing_lock_idx_v1.

\ir ../parts/refusals.sql
                    WHEN j.status <> 'failed' THEN 'the job is ' || j.status || ', not failed'
                    WHEN j.abort_requested THEN 'it was to be aborted: restart it instead'
\ir ../parts/refused_queued.sql

-- :change
WITH changed AS (
  UPDATE :"schema".procrastinate_jobs j SET status = 'todo', attempts = j.attempts + 1, scheduled_at = now()
    FROM unnest(:ids, :versions) AS seen(id, version)
   WHERE j.id = substr(seen.id, 5)::int8 AND j.xmin::text = seen.version AND j.status = 'failed' AND NOT j.abort_requested
  RETURNING j.id, j.queue_name
)
\ir ../parts/notified.sql
