-- Insert the new current transition of each step in `moving(workflow_step_uuid, task_uuid, to_state, becomes, event)`
-- whose old one parts/left_behind.sql has changed. A step without transitions gets its first one, as from the engine.
-- If the engine inserts a first transition at the same moment, the unique index on current transitions rejects the
-- later one.
moved AS (
  INSERT INTO :"schema".workflow_step_transitions (workflow_step_uuid, to_state, from_state, metadata, sort_key, most_recent, created_at, updated_at)
  SELECT m.workflow_step_uuid, m.becomes, m.to_state,
         jsonb_build_object('event', m.event, 'timestamp', now(), 'correlation_id', t.correlation_id,
                            'operator', :operator, 'reason', :reason, 'console', 'unstick', 'action_id', pg_current_xact_id()::text),
         (SELECT coalesce(max(x.sort_key), 0) + 1 FROM :"schema".workflow_step_transitions x WHERE x.workflow_step_uuid = m.workflow_step_uuid),
         true, now(), now()
    FROM moving m JOIN :"schema".tasks t ON t.task_uuid = m.task_uuid
   WHERE m.workflow_step_uuid IN (SELECT l.workflow_step_uuid FROM left_behind l)
     OR NOT EXISTS (SELECT FROM :"schema".workflow_step_transitions x WHERE x.workflow_step_uuid = m.workflow_step_uuid)
  RETURNING workflow_step_uuid
)
