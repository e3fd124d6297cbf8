-- The first 5,000 jobs to do, in the order in which workers take them, or those that are asked for.
first AS MATERIALIZED (
  (SELECT j.id, j.queue_name, j.priority, j.lock, j.scheduled_at FROM :"schema".procrastinate_jobs j
    WHERE :ids IS NULL AND j.status = 'todo' ORDER BY j.priority DESC, j.id LIMIT 5000)
  UNION ALL
  SELECT j.id, j.queue_name, j.priority, j.lock, j.scheduled_at FROM :"schema".procrastinate_jobs j
   WHERE j.status = 'todo' AND j.id = ANY (:job_keys)
)
