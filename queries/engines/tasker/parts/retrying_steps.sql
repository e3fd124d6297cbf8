-- failures: the newest 5,000 unprocessed steps that wait for another attempt. A step is compared with the others also
-- if it alone is asked for. Indexes: idx_workflow_steps_active_operations backwards, the state_lookup.
candidates AS MATERIALIZED (
  SELECT s.workflow_step_uuid FROM :"schema".workflow_steps s WHERE s.processed = false ORDER BY s.workflow_step_uuid DESC LIMIT 5000
),
retrying AS MATERIALIZED (
  SELECT x.workflow_step_uuid, x.created_at AS at FROM :"schema".workflow_step_transitions x
   WHERE x.most_recent AND x.to_state = 'waiting_for_retry' AND x.workflow_step_uuid = ANY (ARRAY(SELECT c.workflow_step_uuid FROM candidates c))
),
steps AS MATERIALIZED (
  SELECT s.workflow_step_uuid, s.results #>> '{error,message}' AS error FROM :"schema".workflow_steps s
   WHERE s.workflow_step_uuid = ANY (ARRAY(SELECT r.workflow_step_uuid FROM retrying r))
),
failures AS (
  SELECT 'step:' || s.workflow_step_uuid AS id, s.at, s.error, true AS first
    FROM (SELECT s.workflow_step_uuid, s.error, r.at FROM retrying r FULL JOIN steps s ON s.workflow_step_uuid = r.workflow_step_uuid OFFSET 0) AS s
   WHERE s.workflow_step_uuid IS NOT NULL -- FULL JOIN excludes nested loops
),
more AS (SELECT (SELECT count(*) FROM candidates) = 5000 AS more)
