-- The tasks of the given ids.
  FROM :"schema".tasks t
 WHERE t.task_id = ANY (ARRAY(SELECT substr(i, 6)::macaddr8 FROM unnest(:ids) AS i))
