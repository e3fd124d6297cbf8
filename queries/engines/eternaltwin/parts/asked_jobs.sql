-- The jobs of the given ids.
  FROM :"schema".job j
 WHERE j.job_id = ANY (ARRAY(SELECT substr(i, 5)::uuid FROM unnest(:ids) AS i))
