-- The jobs of the given ids.
  FROM :"schema".queued_job q
 WHERE q.id = ANY (:job_keys)
