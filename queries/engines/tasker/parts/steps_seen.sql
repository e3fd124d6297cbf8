-- The steps of the nodes of parts/seen.sql, a step itself or all steps of a task, with their state; `kind` and
-- `node_state` are those of the node. A step that a decision or a batch created has no transition until it is enqueued; the engine treats
-- it as pending.
steps_seen AS MATERIALIZED (
  WITH \ir seen.sql
  SELECT s.workflow_step_uuid, s.task_uuid, x.to_state, n.kind, n.state AS node_state
    FROM seen n
    JOIN :"schema".workflow_steps s ON s.task_uuid = n.task_uuid AND (n.step IS NULL OR s.workflow_step_uuid = n.step)
    LEFT JOIN :"schema".workflow_step_transitions z ON z.workflow_step_uuid = s.workflow_step_uuid AND z.most_recent
   CROSS JOIN LATERAL (SELECT coalesce(z.to_state, CASE WHEN NOT EXISTS (
      SELECT FROM :"schema".workflow_step_transitions o WHERE o.workflow_step_uuid = s.workflow_step_uuid) THEN 'pending' END) AS to_state OFFSET 0) AS x
)
