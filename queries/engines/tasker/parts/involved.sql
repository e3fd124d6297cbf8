-- The task of each requested id.
involved AS MATERIALIZED (
  SELECT i AS id, split_part(i, ':', 1) AS kind,
         CASE split_part(i, ':', 1)
           WHEN 'task' THEN substr(i, 6)::uuid
           WHEN 'step' THEN (SELECT s.task_uuid FROM :"schema".workflow_steps s WHERE s.workflow_step_uuid = substr(i, 6)::uuid)
           WHEN 'dead_letter' THEN (SELECT d.task_uuid FROM :"schema".tasks_dlq d WHERE d.dlq_entry_uuid = substr(i, 13)::uuid) END AS task_uuid
    FROM unnest(:ids) AS i
)
