-- Unfinished jobs without an execution: no process ever takes them. Without ids, 1,000 unfinished jobs
-- are checked, and those among the newest 1,000 jobs.
-- Indexes: one on solid_queue_jobs(finished_at), solid_queue_jobs_pkey, those on job_id.
WITH unfinished AS MATERIALIZED (
  SELECT j.id, j.created_at, j.class_name FROM :"schema".solid_queue_jobs j WHERE :ids IS NULL AND j.finished_at IS NULL LIMIT 1000
),
newest AS MATERIALIZED (
  SELECT j.id, j.created_at, j.class_name, j.finished_at FROM :"schema".solid_queue_jobs j WHERE :ids IS NULL ORDER BY j.id DESC LIMIT 1000
),
checked AS MATERIALIZED (
  SELECT u.* FROM unfinished u
  UNION
  SELECT n.id, n.created_at, n.class_name FROM newest n WHERE n.finished_at IS NULL
  UNION
  SELECT j.id, j.created_at, j.class_name FROM :"schema".solid_queue_jobs j
   WHERE j.id = ANY (:job_keys) AND j.finished_at IS NULL
)
(SELECT 'job:' || j.id AS id, extract(epoch FROM j.created_at)::float8 AS since,
        jsonb_build_object('created', date_trunc('second', j.created_at)::text, 'class', j.class_name) AS evidence
   FROM checked j
  CROSS JOIN LATERAL (SELECT coalesce((SELECT t.id FROM :"schema".solid_queue_ready_executions t WHERE t.job_id = j.id),
                                      (SELECT t.id FROM :"schema".solid_queue_claimed_executions t WHERE t.job_id = j.id),
                                      (SELECT t.id FROM :"schema".solid_queue_failed_executions t WHERE t.job_id = j.id),
                                      (SELECT t.id FROM :"schema".solid_queue_blocked_executions t WHERE t.job_id = j.id),
                                      (SELECT t.id FROM :"schema".solid_queue_scheduled_executions t WHERE t.job_id = j.id)) AS execution) AS e
  WHERE e.execution IS NULL
  ORDER BY j.created_at, j.id
  LIMIT :limit)
UNION ALL
SELECT NULL, NULL, NULL WHERE :ids IS NULL AND (SELECT count(*) FROM unfinished) = 1000
