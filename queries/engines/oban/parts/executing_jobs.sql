-- Executing jobs, at most 2,001 without ids.
executing AS MATERIALIZED (
  (SELECT j.id, j.queue, j.worker, j.inserted_at, j.attempted_at, j.attempted_by FROM :"schema".oban_jobs j
    WHERE :ids IS NULL AND j.state = 'executing' ORDER BY j.queue, j.priority, j.scheduled_at, j.id LIMIT 2001)
  UNION ALL
  SELECT j.id, j.queue, j.worker, j.inserted_at, j.attempted_at, j.attempted_by FROM :"schema".oban_jobs j
   WHERE j.id = ANY (:job_keys) AND j.state = 'executing'
)
