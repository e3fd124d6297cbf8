-- Cancelled steps for which others wait: only a step that is complete or resolved by hand satisfies its dependants.
-- The others are open, so the search begins with them.
-- $1 ids text[]: only for these local ids, or NULL
-- $2 page int: how many at most
-- Indexes: those of workflow_steps for open ones, of workflow_step_edges, the state_lookups. 20,000 open steps.
WITH pairs AS MATERIALIZED (
  (SELECT e.from_step_uuid, e.to_step_uuid
     FROM (SELECT s.workflow_step_uuid FROM workflow_steps s WHERE s.processed = false ORDER BY s.workflow_step_uuid DESC LIMIT 20000) AS s
     JOIN workflow_step_edges e ON e.to_step_uuid = s.workflow_step_uuid
    WHERE $1::text[] IS NULL)
  UNION ALL
  SELECT e.from_step_uuid, e.to_step_uuid
    FROM workflow_step_edges e
   WHERE e.from_step_uuid = ANY (ARRAY(SELECT substr(i, 6)::uuid FROM unnest($1::text[]) AS i WHERE i LIKE 'step:%'))
)
SELECT 'step:' || p.from_step_uuid AS id, extract(epoch FROM min(x.created_at))::float8 AS since,
       jsonb_build_object('children', left(string_agg(n.name, ', ' ORDER BY p.to_step_uuid), 200), 'waiting', count(*),
                          'cancelled', date_trunc('second', min(x.created_at))::text) AS evidence
  FROM pairs p
  JOIN workflow_step_transitions x ON x.workflow_step_uuid = p.from_step_uuid AND x.most_recent AND x.to_state = 'cancelled'
  JOIN workflow_step_transitions y ON y.workflow_step_uuid = p.to_step_uuid AND y.most_recent AND y.to_state = 'pending'
  JOIN workflow_steps s ON s.workflow_step_uuid = p.to_step_uuid AND s.processed = false
  JOIN named_steps n ON n.named_step_uuid = s.named_step_uuid
  LEFT JOIN task_transitions t ON t.task_uuid = s.task_uuid AND t.most_recent
 WHERE coalesce(t.to_state, 'pending') NOT IN ('complete', 'cancelled', 'resolved_manually')
 GROUP BY p.from_step_uuid
 ORDER BY min(x.created_at), p.from_step_uuid
 LIMIT $2::int
