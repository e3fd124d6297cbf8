-- Make jobs that are scheduled for later due now.
-- Indexes: procrastinate_jobs_pkey, procrastinate_events_job_id_fkey_v1.

-- :refused
SELECT 'job:' || j.id AS id, r.why
  FROM :"schema".procrastinate_jobs j
 CROSS JOIN LATERAL (
   SELECT CASE WHEN j.status <> 'todo' THEN 'the job is ' || j.status || ': it waits for no time'
               WHEN j.scheduled_at IS NULL OR j.scheduled_at <= now() THEN 'the job is due already' END AS why) AS r
 WHERE j.id = ANY (:job_keys) AND r.why IS NOT NULL

-- :change
WITH changed AS (
  UPDATE :"schema".procrastinate_jobs j SET scheduled_at = now()
    FROM unnest(:ids, :versions) AS seen(id, version)
   WHERE j.id = substr(seen.id, 5)::int8 AND j.xmin::text = seen.version AND j.status = 'todo' AND j.scheduled_at > now()
  RETURNING j.id, j.queue_name, json_build_object('type', 'job_inserted', 'job_id', j.id)::text AS payload
)
SELECT 'job:' || c.id AS id
  FROM changed c -- the engine notifies of new jobs only; without it, workers see a job at their next poll
 CROSS JOIN LATERAL (SELECT pg_notify('procrastinate_any_queue_v1', c.payload),
                            CASE WHEN octet_length(c.queue_name) <= 40 THEN pg_notify('procrastinate_queue_v1#' || c.queue_name, c.payload) END) AS n
