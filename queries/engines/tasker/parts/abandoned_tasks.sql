-- Tasks that an orchestrator has processed for minutes: neither the poller nor the staleness detector finds them.
-- Exclude evaluating_results with a step in flight: the engine continues there with the next result. An orchestrator
-- that moved another task lately, among the newest 5,000 transitions, lives and may wait for a row lock. Then unstick
-- is not suggested. Indexes: those of the included part, task_transitions_pkey backwards,
-- idx_workflow_steps_task_covering, the steps' state_lookup.
wanted AS (SELECT unnest(ARRAY['initializing', 'enqueuing_steps', 'evaluating_results']) AS to_state),
\ir open_tasks.sql
, late AS MATERIALIZED (
  SELECT o.* FROM open_tasks o WHERE o.at < now() - :orchestrator
),
steps AS MATERIALIZED (
  SELECT s.workflow_step_uuid, s.task_uuid FROM :"schema".workflow_steps s
   WHERE s.task_uuid = ANY (ARRAY(SELECT l.task_uuid FROM late l WHERE l.to_state = 'evaluating_results'))
),
moving AS MATERIALIZED (
  SELECT x.workflow_step_uuid FROM :"schema".workflow_step_transitions x
   WHERE x.most_recent AND x.workflow_step_uuid = ANY (ARRAY(SELECT s.workflow_step_uuid FROM steps s))
     AND (x.to_state = 'in_progress' OR x.to_state LIKE 'enqueued%')
),
at_rest AS (SELECT s.task_uuid FROM steps s WHERE (s.workflow_step_uuid IN (SELECT m.workflow_step_uuid FROM moving m)) IS TRUE) -- IS TRUE: hashed subplan
, alive AS MATERIALIZED (
  SELECT r.processor_uuid, max(r.created_at) AS at
    FROM (SELECT x.processor_uuid, x.created_at FROM :"schema".task_transitions x ORDER BY x.task_transition_uuid DESC LIMIT 5000) AS r
   WHERE r.created_at > localtimestamp - :orchestrator GROUP BY r.processor_uuid
),
nodes AS (
  SELECT 'task:' || l.task_uuid AS id, l.*, v.at AS moved
    FROM late l LEFT JOIN alive v ON v.processor_uuid = l.processor_uuid
   WHERE l.task_uuid NOT IN (SELECT r.task_uuid FROM at_rest r)
),
more AS (SELECT EXISTS (SELECT FROM open_tasks o WHERE o.task_uuid IS NULL) AS more)
