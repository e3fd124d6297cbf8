-- The steps of the tasks in `asked(task_uuid)` with their states. The engine takes one without a state as pending.
-- Indexes: idx_workflow_steps_task_covering, the state_lookup.
known_steps AS MATERIALIZED (
  WITH steps AS MATERIALIZED (
    SELECT s.workflow_step_uuid, s.task_uuid, s.processed IS NOT TRUE AND s.in_process IS NOT TRUE AS free
      FROM :"schema".workflow_steps s WHERE s.task_uuid = ANY (ARRAY(SELECT a.task_uuid FROM asked a))
  ),
  step_states AS MATERIALIZED (
    SELECT x.workflow_step_uuid, x.to_state FROM :"schema".workflow_step_transitions x
     WHERE x.most_recent AND x.workflow_step_uuid = ANY (ARRAY(SELECT s.workflow_step_uuid FROM steps s))
  )
  SELECT s.task_uuid, s.workflow_step_uuid AS step, s.free, coalesce(x.to_state, 'pending') AS state,
         x.to_state IS NULL AS stateless, coalesce(x.to_state IN ('complete', 'resolved_manually'), false) AS done
    FROM steps s FULL JOIN step_states x ON x.workflow_step_uuid = s.workflow_step_uuid
)
