-- The tasks of the given ids, locked if no other transaction holds them. seen.version: the version that the operator
-- saw, or a finding's guard.
  FROM :"schema".tasks t
  LEFT JOIN unnest(:ids, :versions) AS seen(id, version) ON seen.id = 'task:' || t.task_id
 WHERE t.task_id = ANY (:task_keys)
 ORDER BY t.task_id
   FOR NO KEY UPDATE OF t SKIP LOCKED
