-- The tasks of the given ids.
  FROM :"schema".task t
 WHERE t.task_id = ANY (ARRAY(SELECT substr(i, 6)::uuid FROM unnest(:ids) AS i))
