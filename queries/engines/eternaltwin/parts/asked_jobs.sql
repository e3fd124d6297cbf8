-- The jobs of the given ids.
  FROM :"schema".job j
 WHERE j.job_id = ANY (:job_keys)
