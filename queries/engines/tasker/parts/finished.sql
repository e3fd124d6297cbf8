-- Set the complete flag of tasks of the requested ids that this transaction completed.
finished AS (
  WITH \ir involved.sql
  UPDATE :"schema".tasks t SET complete = true, updated_at = now()
    FROM involved i, :"schema".task_transitions x
   WHERE t.task_uuid = i.task_uuid AND NOT t.complete
     AND x.task_uuid = t.task_uuid AND x.most_recent AND x.to_state = 'complete' AND x.created_at = localtimestamp
  RETURNING t.task_uuid
)
