-- Steps that are not processed, with their states: those asked for, or the newest 20,000. Failed ones stay among them
-- for ever. Indexes: idx_workflow_steps_active_operations backwards, state_lookup; index-only.
candidates AS MATERIALIZED (
  (SELECT s.workflow_step_uuid FROM workflow_steps s
    WHERE s.processed = false AND $1::text[] IS NULL
    ORDER BY s.workflow_step_uuid DESC LIMIT 20000)
  UNION ALL
  SELECT s.workflow_step_uuid FROM workflow_steps s
   WHERE s.processed = false
     AND s.workflow_step_uuid = ANY (ARRAY(SELECT substr(i, 6)::uuid FROM unnest($1::text[]) AS i WHERE i LIKE 'step:%'))
),
open_steps AS MATERIALIZED (
  SELECT c.workflow_step_uuid, x.to_state
    FROM candidates c
    LEFT JOIN LATERAL (SELECT x.to_state FROM workflow_step_transitions x
                        WHERE x.workflow_step_uuid = c.workflow_step_uuid AND x.most_recent OFFSET 0) AS x ON true
)
