-- Steps in the states of `wanted(to_state)` that have waited long for a worker or an orchestrator, with their task's queue, as `old`.
-- Indexes: those of the included parts, tasks_pkey; at most 500 steps.
\ir open_steps_of_tasks.sql
, waiting AS MATERIALIZED (
  SELECT s.workflow_step_uuid, s.task_uuid, s.named_step_uuid, s.to_state, s.at
    FROM open_steps s
   WHERE s.at < now() - :overdue_least AND s.task_uuid NOT IN (SELECT t.task_uuid FROM ended_tasks t)
   ORDER BY s.at, s.workflow_step_uuid LIMIT 500
),
their_tasks AS MATERIALIZED (
  SELECT t.task_uuid, t.named_task_uuid FROM :"schema".tasks t WHERE t.task_uuid = ANY (ARRAY(SELECT w.task_uuid FROM waiting w))
),
old AS MATERIALIZED (
  SELECT w.*, CASE w.to_state WHEN 'enqueued' THEN 'worker_' || p.name || '_queue' ELSE 'orchestration_step_results' END AS queue
    FROM waiting w
    JOIN their_tasks t ON t.task_uuid = w.task_uuid
    JOIN :"schema".named_tasks n ON n.named_task_uuid = t.named_task_uuid
    JOIN :"schema".task_namespaces p ON p.task_namespace_uuid = n.task_namespace_uuid
)
