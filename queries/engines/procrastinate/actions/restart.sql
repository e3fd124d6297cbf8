-- Run jobs that have ended again, with all their attempts.
-- Indexes: procrastinate_jobs_pkey, procrastinate_events_job_id_fkey_v1, procrastinate_jobs_queueing_lock_idx_v1.

\ir ../parts/lock.sql

-- :refused
SELECT r.id, r.why
  FROM (SELECT 'job:' || j.id AS id,
               CASE WHEN j.status NOT IN ('failed', 'succeeded', 'cancelled', 'aborted') THEN 'the job is ' || j.status || ': only a job that has ended can be restarted'
                    WHEN q.id IS NOT NULL THEN 'the job ' || q.id || ' has the same queueing lock, and only one may wait' END AS why
          FROM :"schema".procrastinate_jobs j
          LEFT JOIN LATERAL (
\ir ../parts/queued.sql
               ) AS q ON true
         WHERE j.id = ANY (ARRAY(SELECT substr(i, 5)::int8 FROM unnest(:ids) AS i))) AS r
 WHERE r.why IS NOT NULL

\ir ../parts/rows.sql

-- :change
WITH changed AS (
  UPDATE :"schema".procrastinate_jobs j SET status = 'todo', attempts = 0, scheduled_at = now(), abort_requested = false
    FROM unnest(:ids, :versions) AS seen(id, version)
   WHERE j.id = substr(seen.id, 5)::int8 AND j.xmin::text = seen.version AND j.status IN ('failed', 'succeeded', 'cancelled', 'aborted')
  RETURNING j.id, j.queue_name
)
\ir ../parts/notified.sql
