-- The rows that actions on jobs and queues may change: a job's queue is locked with it.
-- Indexes: jobs_pkey1, job_queues_pkey1.
SELECT 'job:' || j.id AS id, j.tableoid AS relation, j.ctid::text AS place
  FROM :"schema"._private_jobs j
 WHERE j.id = ANY (:job_keys)
UNION ALL
SELECT 'job:' || j.id, q.tableoid, q.ctid::text
  FROM :"schema"._private_jobs j
  JOIN :"schema"._private_job_queues q ON q.id = j.job_queue_id
 WHERE j.id = ANY (:job_keys)
UNION ALL
SELECT 'queue:' || q.id, q.tableoid, q.ctid::text
  FROM :"schema"._private_job_queues q
 WHERE q.id = ANY (:queue_keys)
