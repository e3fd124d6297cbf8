-- title: Parents and dependents
-- kinds: step
-- Indexes: those on workflow_step_edges, the state_lookup.
SELECT e.where AS "where", n.name::text AS step, coalesce(x.to_state, 'no current state')::text AS state, s.workflow_step_uuid::text AS id
  FROM (SELECT 'parent' AS where, e.from_step_uuid AS step FROM :"schema".workflow_step_edges e WHERE e.to_step_uuid = substr(:id, 6)::uuid
        UNION
        SELECT 'child', e.to_step_uuid FROM :"schema".workflow_step_edges e WHERE e.from_step_uuid = substr(:id, 6)::uuid) AS e
  JOIN :"schema".workflow_steps s ON s.workflow_step_uuid = e.step
  JOIN :"schema".named_steps n ON n.named_step_uuid = s.named_step_uuid
 CROSS JOIN LATERAL (
    SELECT coalesce((SELECT x.to_state FROM :"schema".workflow_step_transitions x WHERE x.workflow_step_uuid = s.workflow_step_uuid AND x.most_recent),
                    CASE WHEN NOT EXISTS (SELECT FROM :"schema".workflow_step_transitions x WHERE x.workflow_step_uuid = s.workflow_step_uuid)
                         THEN 'pending' END) AS to_state
    OFFSET 0) AS x
 ORDER BY e.where DESC, s.workflow_step_uuid
 LIMIT 200
