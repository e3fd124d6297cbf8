-- The tasks of the given ids.
  FROM :"schema".task t
 WHERE t.task_id = ANY (:task_keys)
