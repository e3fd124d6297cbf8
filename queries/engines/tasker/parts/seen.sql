-- Requested ids whose version is still the one that the operator saw, with their tasks and their state. The state of a
-- dead letter is that of its task.
seen AS MATERIALIZED (
  SELECT v.id, split_part(v.id, ':', 1) AS kind, n.task_uuid, n.step, n.state
    FROM unnest(:ids, :versions) AS v(id, version)
   CROSS JOIN LATERAL (
     SELECT t.task_uuid, NULL::uuid AS step, x.to_state AS state, coalesce(x.task_transition_uuid::text, 'none') || ':' || t.xmin AS version
       FROM :"schema".tasks t LEFT JOIN :"schema".task_transitions x ON x.task_uuid = t.task_uuid AND x.most_recent
      WHERE v.id LIKE 'task:%' AND t.task_uuid = CASE WHEN v.id LIKE 'task:%' THEN substr(v.id, 6)::uuid END
     UNION ALL
     SELECT s.task_uuid, s.workflow_step_uuid, coalesce(x.to_state, 'pending'), coalesce(x.workflow_step_transition_uuid::text, 'none') || ':' || s.xmin
       FROM :"schema".workflow_steps s
       LEFT JOIN :"schema".workflow_step_transitions x ON x.workflow_step_uuid = s.workflow_step_uuid AND x.most_recent
      WHERE v.id LIKE 'step:%' AND s.workflow_step_uuid = CASE WHEN v.id LIKE 'step:%' THEN substr(v.id, 6)::uuid END
     UNION ALL
     SELECT d.task_uuid, NULL, x.to_state, d.xmin::text
       FROM :"schema".tasks_dlq d LEFT JOIN :"schema".task_transitions x ON x.task_uuid = d.task_uuid AND x.most_recent
      WHERE v.id LIKE 'dead_letter:%' AND d.dlq_entry_uuid = CASE WHEN v.id LIKE 'dead_letter:%' THEN substr(v.id, 13)::uuid END) AS n
   WHERE n.version = v.version
)
