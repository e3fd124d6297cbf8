-- The tasks of the given ids.
  FROM :"schema".tasks t
 WHERE t.task_id = ANY (:task_keys)
