-- The first 5,000 jobs that wait, in the order in which workers take them, or those that are asked for.
due AS MATERIALIZED (
  (SELECT j.id, j.task_id, j.job_queue_id, j.priority, j.run_at FROM :"schema"._private_jobs j
    WHERE :ids IS NULL AND j.is_available = true ORDER BY j.priority, j.run_at LIMIT 5000)
  UNION ALL
  SELECT j.id, j.task_id, j.job_queue_id, j.priority, j.run_at FROM :"schema"._private_jobs j
   WHERE j.is_available AND j.id = ANY (ARRAY(SELECT substr(i, 5)::int8 FROM unnest(:ids) AS i WHERE i ~ '^job:[0-9]{1,18}$'))
)
