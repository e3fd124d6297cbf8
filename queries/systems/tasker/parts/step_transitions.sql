-- The new current transition of each step in `left_behind(workflow_step_uuid, task_uuid, to_state, becomes, event)`.
INSERT INTO :"schema".workflow_step_transitions (workflow_step_uuid, to_state, from_state, metadata, sort_key, most_recent, created_at, updated_at)
SELECT l.workflow_step_uuid, l.becomes, l.to_state,
       jsonb_build_object('event', l.event, 'timestamp', now(), 'correlation_id', t.correlation_id,
                          'operator', $3::text, 'reason', $4::text, 'console', 'unstick', 'action_id', pg_current_xact_id()::text),
       (SELECT max(x.sort_key) + 1 FROM :"schema".workflow_step_transitions x WHERE x.workflow_step_uuid = l.workflow_step_uuid),
       true, now(), now()
  FROM left_behind l JOIN :"schema".tasks t ON t.task_uuid = l.task_uuid
