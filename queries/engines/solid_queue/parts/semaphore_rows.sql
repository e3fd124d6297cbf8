UNION ALL
SELECT 'job:' || j.id, 'solid_queue_semaphores', m.id::text, m.ctid::text, row_to_json(m)
  FROM :"schema".solid_queue_jobs j
  JOIN :"schema".solid_queue_semaphores m ON m.key = j.concurrency_key
 WHERE j.id = ANY (:job_keys)
