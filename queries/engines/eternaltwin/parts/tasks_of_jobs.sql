-- The tasks of the jobs of the given ids.
  FROM :"schema".task t
 WHERE t.job_id = ANY (ARRAY(SELECT substr(i, 5)::uuid FROM unnest(:ids) AS i))
