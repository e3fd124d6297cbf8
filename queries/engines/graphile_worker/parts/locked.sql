-- Locked jobs, 5,000 at most, or those that are asked for.
locked AS MATERIALIZED (
  (SELECT j.id, j.task_id, j.job_queue_id, j.priority, j.run_at, j.locked_at, j.locked_by FROM :"schema"._private_jobs j
    WHERE :ids IS NULL AND j.locked_at IS NOT NULL ORDER BY j.locked_at LIMIT 5000)
  UNION ALL
  SELECT j.id, j.task_id, j.job_queue_id, j.priority, j.run_at, j.locked_at, j.locked_by FROM :"schema"._private_jobs j
   WHERE j.locked_at IS NOT NULL AND j.id = ANY (ARRAY(SELECT substr(i, 5)::int8 FROM unnest(:ids) AS i WHERE i ~ '^job:[0-9]{1,18}$'))
)
