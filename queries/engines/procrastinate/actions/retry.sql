-- Run failed jobs again, as the engine's procrastinate_retry_job_v2 does.
-- Indexes: procrastinate_jobs_pkey, procrastinate_events_job_id_fkey_v1, procrastinate_jobs_queueing_lock_idx_v1.

-- :refused
WITH \ir ../parts/queued.sql
SELECT 'job:' || j.id AS id, r.why
  FROM :"schema".procrastinate_jobs j
  LEFT JOIN queued q ON q.id = j.id
 CROSS JOIN LATERAL (
   SELECT CASE WHEN j.status <> 'failed' THEN 'the job is ' || j.status || ', not failed'
               WHEN j.abort_requested THEN 'it was to be aborted: restart it instead'
               WHEN q.other IS NOT NULL THEN 'the job ' || q.other || ' has the same queueing lock, and only one may wait' END AS why) AS r
 WHERE j.id = ANY (:job_keys) AND r.why IS NOT NULL

-- :change
WITH changed AS (
  UPDATE :"schema".procrastinate_jobs j SET status = 'todo', attempts = j.attempts + 1, scheduled_at = now()
    FROM unnest(:ids, :versions) AS seen(id, version)
   WHERE j.id = substr(seen.id, 5)::int8 AND j.xmin::text = seen.version AND j.status = 'failed' AND NOT j.abort_requested
  RETURNING j.id, j.queue_name, json_build_object('type', 'job_inserted', 'job_id', j.id)::text AS payload
)
SELECT 'job:' || c.id AS id
  FROM changed c -- the engine notifies of new jobs only; without it, workers see a job at their next poll
 CROSS JOIN LATERAL (SELECT pg_notify('procrastinate_any_queue_v1', c.payload),
                            CASE WHEN octet_length(c.queue_name) <= 40 THEN pg_notify('procrastinate_queue_v1#' || c.queue_name, c.payload) END) AS n
