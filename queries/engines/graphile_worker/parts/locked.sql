-- Locked jobs, 5,000 at most, or those that are asked for, with the sessions of workers.
-- needs: locked
-- needs of ids: none
-- Indexes: one on (locked_at) of locked jobs, jobs_pkey1, job_queues_pkey1.
\ir sessions.sql
, locked AS MATERIALIZED (
  (SELECT j.id, j.task_id, j.job_queue_id, j.priority, j.run_at, j.locked_at, j.locked_by FROM :"schema"._private_jobs j
    WHERE :ids IS NULL AND j.locked_at IS NOT NULL ORDER BY j.locked_at LIMIT 5000)
  UNION ALL
  SELECT j.id, j.task_id, j.job_queue_id, j.priority, j.run_at, j.locked_at, j.locked_by FROM :"schema"._private_jobs j
   WHERE j.locked_at IS NOT NULL AND j.id = ANY (:job_keys)
),
nodes AS (
  SELECT 'job:' || j.id AS id, j.locked_at, j.locked_by, q.queue_name, s.oldest, s.text
    FROM locked j
   CROSS JOIN sessions s
    LEFT JOIN LATERAL (SELECT i.queue_name FROM :"schema"._private_job_queues i WHERE i.id = j.job_queue_id LIMIT 1) AS q ON true
),
more AS (SELECT (SELECT count(*) FROM locked) = 5000 AS more)
