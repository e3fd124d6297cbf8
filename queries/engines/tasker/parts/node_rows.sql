-- The rows of the requested tasks, steps and dead letters, with the transaction or MultiXact that locked each last. A
-- worker or orchestrator changes a task or step together with its current transition; for a task also its open steps.
node_rows AS (
  SELECT 'task:' || t.task_uuid AS id, t.tableoid AS relation, t.ctid::text AS place, t.xmax AS locker
    FROM :"schema".tasks t
   WHERE t.task_uuid = ANY (:task_keys)
  UNION ALL
  SELECT 'task:' || x.task_uuid, x.tableoid, x.ctid::text, x.xmax
    FROM :"schema".task_transitions x
   WHERE x.most_recent AND x.task_uuid = ANY (:task_keys)
  UNION ALL
  SELECT i, s.tableoid, s.ctid::text, s.xmax
    FROM unnest(:ids) AS i
   CROSS JOIN LATERAL (
         SELECT w.tableoid, w.ctid, w.xmax FROM :"schema".workflow_steps w
          WHERE w.task_uuid = CASE WHEN i LIKE 'task:%' THEN substr(i, 6)::uuid END AND w.processed = false
          LIMIT 20) AS s
  UNION ALL
  SELECT 'step:' || s.workflow_step_uuid, s.tableoid, s.ctid::text, s.xmax
    FROM :"schema".workflow_steps s
   WHERE s.workflow_step_uuid = ANY (:step_keys)
  UNION ALL
  SELECT 'step:' || x.workflow_step_uuid, x.tableoid, x.ctid::text, x.xmax
    FROM :"schema".workflow_step_transitions x
   WHERE x.most_recent AND x.workflow_step_uuid = ANY (:step_keys)
  UNION ALL
  SELECT 'dead_letter:' || d.dlq_entry_uuid, d.tableoid, d.ctid::text, d.xmax
    FROM :"schema".tasks_dlq d
   WHERE d.dlq_entry_uuid = ANY (:dead_letter_keys)
)
