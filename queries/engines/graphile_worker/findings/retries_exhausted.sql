-- Jobs that failed as often as they may: the newest 1,000 ids of them, or those among the newest 5,000 jobs.
-- Indexes: one on (id) of failed jobs, if it exists; jobs_pkey1, tasks_pkey.
WITH newest AS MATERIALIZED (
  SELECT o.id, o.task_id, o.updated_at, o.attempts, o.max_attempts, o.locked_at, o.last_error FROM :"schema"._private_jobs o
   WHERE :ids IS NULL AND NOT 'failed' = ANY (:met_needs) ORDER BY o.id DESC LIMIT 5000
), failed AS MATERIALIZED (
  (SELECT o.id, o.task_id, o.updated_at, o.attempts, o.last_error FROM :"schema"._private_jobs o
    WHERE :ids IS NULL AND 'failed' = ANY (:met_needs) AND o.attempts >= o.max_attempts AND o.locked_at IS NULL ORDER BY o.id DESC LIMIT 1000)
  UNION ALL
  SELECT n.id, n.task_id, n.updated_at, n.attempts, n.last_error FROM newest n WHERE n.attempts >= n.max_attempts AND n.locked_at IS NULL
  UNION ALL
  SELECT o.id, o.task_id, o.updated_at, o.attempts, o.last_error FROM :"schema"._private_jobs o
   WHERE o.attempts >= o.max_attempts AND o.locked_at IS NULL
     AND o.id = ANY (:job_keys)
)
(SELECT 'job:' || j.id AS id, extract(epoch FROM j.updated_at)::float8 AS since,
        jsonb_build_object('task', coalesce(k.identifier, j.task_id::text), 'attempts', j.attempts, 'error', coalesce(left(j.last_error, 300), 'no error is recorded')) AS evidence
   FROM failed j
   LEFT JOIN LATERAL (SELECT i.identifier FROM :"schema"._private_tasks i WHERE i.id = j.task_id LIMIT 1) AS k ON true
  ORDER BY j.id DESC
  LIMIT :limit)
UNION ALL
SELECT NULL, NULL, NULL WHERE (SELECT count(*) FROM failed) = 1000 OR (SELECT count(*) FROM newest) = 5000
