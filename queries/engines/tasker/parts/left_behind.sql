-- End the current transition of each step in `moving(workflow_step_uuid, to_state)`; `to_state` is the old state.
left_behind AS (
  UPDATE :"schema".workflow_step_transitions x SET most_recent = false, updated_at = now()
    FROM moving m
   WHERE x.workflow_step_uuid = m.workflow_step_uuid AND x.most_recent AND x.to_state = m.to_state
  RETURNING x.workflow_step_uuid
)
