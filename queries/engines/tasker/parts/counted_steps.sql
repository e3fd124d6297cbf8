-- The steps of the tasks in `asked(task_uuid)` by state: `counted` has one row per task with steps.
-- Indexes: idx_workflow_steps_task_covering, the state_lookup.
steps AS MATERIALIZED (
  SELECT s.workflow_step_uuid, s.task_uuid, s.processed IS NOT TRUE AND s.in_process IS NOT TRUE AS free
    FROM :"schema".workflow_steps s WHERE s.task_uuid = ANY (ARRAY(SELECT a.task_uuid FROM asked a))
),
step_states AS MATERIALIZED (
  SELECT x.workflow_step_uuid, x.to_state FROM :"schema".workflow_step_transitions x
   WHERE x.most_recent AND x.workflow_step_uuid = ANY (ARRAY(SELECT s.workflow_step_uuid FROM steps s))
),
known AS MATERIALIZED (
  SELECT s.task_uuid, s.workflow_step_uuid AS step, s.free, coalesce(x.to_state, 'pending') AS state
    FROM steps s FULL JOIN step_states x ON x.workflow_step_uuid = s.workflow_step_uuid
),
counted AS MATERIALIZED (
  SELECT k.task_uuid, count(*) AS total, count(*) FILTER (WHERE k.state IN ('complete', 'resolved_manually')) AS done,
         count(*) FILTER (WHERE k.state = 'error') AS failed,
         count(*) FILTER (WHERE k.state = 'in_progress' OR k.state LIKE 'enqueued%') AS in_flight
    FROM known k GROUP BY k.task_uuid
)
