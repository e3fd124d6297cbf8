-- The requested tasks with their state, and `why` most actions refuse them.
asked_tasks AS (
  SELECT i AS id, t.task_uuid, t.priority, t.identity_hash, t.correlation_id, x.to_state, x.created_at AS entered_at, CASE
    WHEN x.to_state IS NULL THEN 'no transition of the task is marked as current. Repair that in the database first'
    WHEN x.to_state IN ('complete', 'cancelled', 'resolved_manually') THEN 'the task has ended (' || x.to_state || ')' END AS why
    FROM unnest(:ids) AS i
    JOIN :"schema".tasks t ON t.task_uuid = substr(i, 6)::uuid
    LEFT JOIN :"schema".task_transitions x ON x.task_uuid = t.task_uuid AND x.most_recent
)
