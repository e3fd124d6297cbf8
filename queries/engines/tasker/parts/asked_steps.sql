-- The requested steps with their state and that of their task, and `why` all actions refuse them. A step that a
-- decision or a batch created has no transition until it is enqueued; the engine treats it as pending. Without OFFSET
-- the state is read again for each condition on it.
asked_steps AS (
  SELECT i AS id, s.*, x.to_state, y.to_state AS task_state, CASE
    WHEN x.to_state IS NULL THEN 'no transition of the step is marked as current. Repair that in the database first'
    WHEN y.to_state IS NULL THEN 'no transition of its task is marked as current. Repair that in the database first'
    WHEN y.to_state IN ('complete', 'cancelled', 'resolved_manually') THEN 'its task has ended (' || y.to_state || ')' END AS why
    FROM unnest(:ids) AS i
    JOIN :"schema".workflow_steps s ON s.workflow_step_uuid = substr(i, 6)::uuid
    LEFT JOIN :"schema".workflow_step_transitions z ON z.workflow_step_uuid = s.workflow_step_uuid AND z.most_recent
   CROSS JOIN LATERAL (SELECT coalesce(z.to_state, CASE WHEN NOT EXISTS (
      SELECT FROM :"schema".workflow_step_transitions o WHERE o.workflow_step_uuid = s.workflow_step_uuid) THEN 'pending' END) AS to_state OFFSET 0) AS x
    LEFT JOIN :"schema".task_transitions y ON y.task_uuid = s.task_uuid AND y.most_recent
)
