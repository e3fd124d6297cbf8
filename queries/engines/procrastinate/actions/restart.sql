-- Run jobs that have ended again, with all their attempts.
-- Indexes: procrastinate_jobs_pkey, procrastinate_events_job_id_fkey_v1, procrastinate_jobs_queueing_lock_idx_v1.

\ir ../parts/refusals.sql
                    WHEN j.status NOT IN ('failed', 'succeeded', 'cancelled', 'aborted') THEN 'the job is ' || j.status || ': only a job that has ended can be restarted'
\ir ../parts/refused_queued.sql

-- :change
WITH changed AS (
  UPDATE :"schema".procrastinate_jobs j SET status = 'todo', attempts = 0, scheduled_at = now(), abort_requested = false
    FROM unnest(:ids, :versions) AS seen(id, version)
   WHERE j.id = substr(seen.id, 5)::int8 AND j.xmin::text = seen.version AND j.status IN ('failed', 'succeeded', 'cancelled', 'aborted')
  RETURNING j.id, j.queue_name
)
\ir ../parts/notified.sql
