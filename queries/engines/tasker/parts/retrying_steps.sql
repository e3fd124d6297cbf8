-- failed: the newest 5,000 unprocessed steps that wait for another attempt. A step is compared with the others also if it alone
-- is asked for.
-- Indexes: idx_workflow_steps_active_operations backwards, the newest 5,000 unprocessed steps; the state_lookup of these.
candidates AS MATERIALIZED (
  SELECT s.workflow_step_uuid FROM :"schema".workflow_steps s WHERE s.processed = false ORDER BY s.workflow_step_uuid DESC LIMIT 5000
),
retrying AS MATERIALIZED (
  SELECT x.workflow_step_uuid, x.created_at AS at FROM :"schema".workflow_step_transitions x
   WHERE x.most_recent AND x.to_state = 'waiting_for_retry' AND x.workflow_step_uuid = ANY (ARRAY(SELECT c.workflow_step_uuid FROM candidates c))
),
failed AS (
  SELECT 'step:' || s.workflow_step_uuid AS id, r.at, s.results #>> '{error,message}' AS error, true AS first
    FROM :"schema".workflow_steps s JOIN retrying r ON r.workflow_step_uuid = s.workflow_step_uuid
   WHERE s.workflow_step_uuid = ANY (ARRAY(SELECT q.workflow_step_uuid FROM retrying q))
),
more AS (SELECT (SELECT count(*) FROM candidates) = 5000 AS more)
