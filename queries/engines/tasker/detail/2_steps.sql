-- title: Steps
-- kinds: task
-- drawn: graph
-- A step's time starts when its last parent was done, and continues until it ends.
-- Indexes: workflow_steps_pkey, the one on workflow_step_edges(to_step_uuid), the state_lookup: one look-up for all keys.
-- FULL JOIN excludes nested loops, and table scans for the 1,000 rows that the planner expects.
WITH ready AS MATERIALIZED (
  SELECT r.* FROM :"schema".get_step_readiness_status(substr(:id, 6)::uuid, NULL) AS r
),
rows AS MATERIALIZED (
  SELECT s.workflow_step_uuid, s.results, s.created_at FROM :"schema".workflow_steps s
   WHERE s.workflow_step_uuid = ANY (ARRAY(SELECT r.workflow_step_uuid FROM ready r))
),
entered AS MATERIALIZED (
  SELECT x.workflow_step_uuid, x.created_at FROM :"schema".workflow_step_transitions x
   WHERE x.most_recent AND x.workflow_step_uuid = ANY (ARRAY(SELECT r.workflow_step_uuid FROM ready r))
),
timed AS MATERIALIZED (
  SELECT r.*, s.results, s.created_at AS made_at,
         CASE WHEN r.current_state IN ('complete', 'resolved_manually', 'cancelled', 'error') THEN e.created_at END AS ended_at
    FROM ready r
    FULL JOIN rows s ON s.workflow_step_uuid = r.workflow_step_uuid
    FULL JOIN entered e ON e.workflow_step_uuid = r.workflow_step_uuid
),
edges AS MATERIALIZED (
  SELECT e.from_step_uuid, e.to_step_uuid FROM :"schema".workflow_step_edges e
   WHERE e.to_step_uuid = ANY (ARRAY(SELECT r.workflow_step_uuid FROM ready r))
),
above AS (
  SELECT e.to_step_uuid AS step, array_agg(DISTINCT e.from_step_uuid::text) AS parents, max(p.ended_at) AS ended_at
    FROM edges e
    LEFT JOIN timed p ON p.workflow_step_uuid = e.from_step_uuid
   GROUP BY e.to_step_uuid
)
SELECT t.workflow_step_uuid::text AS id, t.name::text AS name, a.parents, t.current_state::text AS state,
       CASE WHEN t.current_state IN ('pending', 'waiting_for_retry')
            THEN CASE WHEN NOT t.dependencies_satisfied THEN 'blocked' WHEN t.next_retry_at > now() THEN 'scheduled' ELSE 'ready' END END AS phase,
       CASE WHEN t.ended_at IS NOT NULL OR t.dependencies_satisfied OR t.current_state NOT IN ('pending', 'waiting_for_retry')
            THEN greatest(nullif(extract(epoch FROM coalesce(t.ended_at, now()::timestamp)) - extract(epoch FROM coalesce(a.ended_at, t.made_at)), 'NaN'), 0)::float8 END AS seconds,
       nullif(concat_ws(', ', CASE WHEN t.attempts > 1 OR t.current_state NOT IN ('pending', 'complete') THEN 'attempt ' || t.attempts || '/' || t.max_attempts END,
                        CASE WHEN t.ready_for_execution THEN 'ready' WHEN NOT t.retry_eligible THEN 'no attempts left'
                             WHEN NOT t.dependencies_satisfied THEN t.completed_parents || '/' || t.total_parents || ' parents done'
                             WHEN t.current_state IN ('pending', 'waiting_for_retry') THEN 'retry at ' || to_char(t.next_retry_at, 'HH24:MI:SS"Z"') END,
                        CASE WHEN t.ended_at IS NULL OR t.current_state = 'error' THEN left(t.results #>> '{error,message}', 200) END), '') AS note
  FROM timed t
  LEFT JOIN above a ON a.step = t.workflow_step_uuid
 ORDER BY t.workflow_step_uuid
 LIMIT 1000
