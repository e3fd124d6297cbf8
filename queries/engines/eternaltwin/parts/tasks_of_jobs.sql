-- The tasks of the jobs of the given ids.
  FROM :"schema".task t
 WHERE t.job_id = ANY (:job_keys)
