-- Running jobs, 5,000 at most, or those that are asked for.
asked AS MATERIALIZED (
  (SELECT j.id, j.queue_name, j.lock, j.worker_id FROM :"schema".procrastinate_jobs j WHERE :ids IS NULL AND j.status = 'doing' ORDER BY j.lock LIMIT 5000)
  UNION ALL
  SELECT j.id, j.queue_name, j.lock, j.worker_id FROM :"schema".procrastinate_jobs j
   WHERE j.status = 'doing' AND j.id = ANY (:job_keys)
)
