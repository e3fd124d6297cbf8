-- Unfinished tasks by template, and by namespace: their number, and the phase of the first of their states in this order. If there
-- are more than 2,000 of them, one row, without either, whose phase is not known.
-- Indexes: idx_tasks_active_with_priority_covering and idx_task_transitions_state_lookup, index-only.
open_by_template AS MATERIALIZED (
  WITH open AS MATERIALIZED (
    SELECT t.task_uuid, t.named_task_uuid FROM :"schema".tasks t WHERE t.complete = false ORDER BY t.priority, t.task_uuid LIMIT 2001
  )
  SELECT n.task_namespace_uuid, o.named_task_uuid, count(*) FILTER (WHERE x.to_state IS NULL OR x.to_state NOT IN ('cancelled', 'resolved_manually')) AS open,
         CASE WHEN bool_or(x.to_state IN ('error', 'blocked_by_failures')) THEN 'failed' WHEN bool_or(x.to_state = 'waiting_for_dependencies') THEN 'blocked'
              WHEN bool_or(x.to_state IN ('initializing', 'enqueuing_steps', 'steps_in_process', 'evaluating_results')) THEN 'running'
              WHEN bool_or(x.to_state = 'pending') THEN 'ready' WHEN bool_or(x.to_state = 'waiting_for_retry') THEN 'scheduled' ELSE 'done' END AS phase
    FROM open o
    JOIN :"schema".named_tasks n ON n.named_task_uuid = o.named_task_uuid
    LEFT JOIN LATERAL (SELECT x.to_state FROM :"schema".task_transitions x WHERE x.task_uuid = o.task_uuid AND x.most_recent OFFSET 0) AS x ON true
   WHERE (SELECT count(*) FROM open) <= 2000
   GROUP BY GROUPING SETS ((n.task_namespace_uuid), (o.named_task_uuid))
  UNION ALL
  SELECT NULL, NULL, NULL, 'unknown' WHERE (SELECT count(*) FROM open) > 2000
)
