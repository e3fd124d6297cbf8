-- The rows of the jobs and of their queues.
-- :rows
SELECT 'job:' || j.id AS id, '_private_jobs' AS "table", j.id::text AS key, j.ctid::text AS place, row_to_json(j) AS row
  FROM :"schema"._private_jobs j
 WHERE j.id = ANY (:job_keys)

-- :rows
SELECT 'job:' || j.id AS id, '_private_job_queues' AS "table", q.id::text AS key, q.ctid::text AS place, row_to_json(q) AS row
  FROM :"schema"._private_jobs j
  JOIN :"schema"._private_job_queues q ON q.id = j.job_queue_id
 WHERE j.id = ANY (:job_keys)
