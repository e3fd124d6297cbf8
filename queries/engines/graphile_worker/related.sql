-- Jobs that wait for the queue of these jobs, or for these queues: a queue runs one job at a time. A row without id:
-- not all are known, and why.
-- Indexes: jobs_pkey1; jobs_main_index, 5,000 rows.
WITH queues AS MATERIALIZED (
  SELECT j.job_queue_id AS id FROM :"schema"._private_jobs j
   WHERE j.job_queue_id IS NOT NULL AND j.id = ANY (:job_keys)
  UNION
  SELECT substr(i, 7)::int FROM unnest(:ids) AS i WHERE i LIKE 'queue:%'
),
due AS MATERIALIZED (
  SELECT j.id, j.job_queue_id FROM :"schema"._private_jobs j
   WHERE j.is_available = true AND 'available' = ANY (:met_needs) AND EXISTS (SELECT FROM queues) ORDER BY j.priority, j.run_at LIMIT 5000
)
(SELECT 'job:' || d.id AS id, 'waiter' AS relation, 'jobs of the same queue, which runs one at a time' AS note
   FROM due d WHERE d.job_queue_id IN (SELECT id FROM queues) AND 'job:' || d.id <> ALL (:ids) LIMIT :limit)
UNION ALL
SELECT NULL, 'waiter', 'only the first 5,000 jobs that wait were searched' WHERE (SELECT count(*) FROM due) = 5000
UNION ALL
SELECT NULL, 'waiter', 'the engine''s index jobs_main_index is missing' WHERE EXISTS (SELECT FROM queues) AND NOT 'available' = ANY (:met_needs)
