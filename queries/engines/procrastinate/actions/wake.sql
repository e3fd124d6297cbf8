-- Make jobs that are scheduled for later due now.
-- Indexes: procrastinate_jobs_pkey, procrastinate_events_job_id_fkey_v1.

\ir ../parts/refusals.sql
                    WHEN j.status <> 'todo' THEN 'the job is ' || j.status || ': it waits for no time'
                    WHEN j.scheduled_at IS NULL OR j.scheduled_at <= now() THEN 'the job is due already' END AS why
          FROM :"schema".procrastinate_jobs j
\ir ../parts/refused.sql

-- :change
WITH changed AS (
  UPDATE :"schema".procrastinate_jobs j SET scheduled_at = now()
    FROM unnest(:ids, :versions) AS seen(id, version)
   WHERE j.id = substr(seen.id, 5)::int8 AND j.xmin::text = seen.version AND j.status = 'todo' AND j.scheduled_at > now()
  RETURNING j.id, j.queue_name
)
\ir ../parts/notified.sql
