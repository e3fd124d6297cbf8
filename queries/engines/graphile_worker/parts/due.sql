-- The first 5,000 jobs that wait, in the order in which workers take them, or those that are asked for, with their task and their queue.
-- needs: available
-- needs of ids: none
-- Indexes: jobs_main_index, jobs_pkey1, job_queues_pkey1, tasks_pkey.
\ir sessions.sql
,
due AS MATERIALIZED (
  (SELECT j.id, j.task_id, j.job_queue_id, j.priority, j.run_at FROM :"schema"._private_jobs j
    WHERE :ids IS NULL AND j.is_available = true ORDER BY j.priority, j.run_at LIMIT 5000)
  UNION ALL
  SELECT j.id, j.task_id, j.job_queue_id, j.priority, j.run_at FROM :"schema"._private_jobs j
   WHERE j.is_available AND j.id = ANY (:job_keys)
),
nodes AS (
  SELECT 'job:' || j.id AS id, j.run_at, coalesce(k.identifier, j.task_id::text) AS task, q.queue_name, q.is_available, q.locked_by, q.locked_at, s.text
    FROM due j
   CROSS JOIN sessions s
    LEFT JOIN LATERAL (SELECT i.identifier FROM :"schema"._private_tasks i WHERE i.id = j.task_id LIMIT 1) AS k ON true
    LEFT JOIN LATERAL (SELECT i.queue_name, i.is_available, i.locked_by, i.locked_at FROM :"schema"._private_job_queues i WHERE i.id = j.job_queue_id LIMIT 1) AS q ON true
),
more AS (SELECT (SELECT count(*) FROM due) = 5000 AS more)
