-- Tasks in steps_in_process without a step in process: the message that would continue them was lost.
-- Indexes: those of the included part, idx_workflow_steps_task_covering, the steps' state_lookup.
wanted AS (SELECT unnest(ARRAY['steps_in_process']) AS to_state),
\ir open_tasks.sql
, steps AS MATERIALIZED (
  SELECT s.workflow_step_uuid, s.task_uuid FROM :"schema".workflow_steps s
   WHERE s.task_uuid = ANY (ARRAY(SELECT o.task_uuid FROM open_tasks o WHERE o.at < now() - :idle))
),
stale AS MATERIALIZED (
  SELECT y.workflow_step_uuid FROM :"schema".workflow_step_transitions y
   WHERE y.most_recent AND y.workflow_step_uuid = ANY (ARRAY(SELECT s.workflow_step_uuid FROM steps s))
     AND (y.to_state = 'in_progress' OR y.to_state LIKE 'enqueued%'
          OR y.created_at > now() - :idle)
),
in_flight AS (SELECT s.task_uuid FROM steps s WHERE (s.workflow_step_uuid IN (SELECT m.workflow_step_uuid FROM stale m)) IS TRUE) -- IS TRUE: hashed subplan
, nodes AS (SELECT 'task:' || o.task_uuid AS id, o.* FROM open_tasks o WHERE o.task_uuid NOT IN (SELECT f.task_uuid FROM in_flight f)),
more AS (SELECT EXISTS (SELECT FROM open_tasks o WHERE o.task_uuid IS NULL) AS more)
