-- Tasks of `open(task_uuid, named_task_uuid)` by template: their number, and whether some are in a state of this phase.
-- Empty if there are more than 2,000.
open_by_template AS (
  SELECT o.named_task_uuid,
       count(*) FILTER (WHERE x.to_state IS NULL OR x.to_state NOT IN ('cancelled', 'resolved_manually')) AS open,
       bool_or(x.to_state IN ('error', 'blocked_by_failures')) AS failed,
       bool_or(x.to_state IN ('waiting_for_dependencies')) AS blocked,
       bool_or(x.to_state IN ('initializing', 'enqueuing_steps', 'steps_in_process', 'evaluating_results')) AS running,
       bool_or(x.to_state = 'pending') AS ready, bool_or(x.to_state = 'waiting_for_retry') AS scheduled
    FROM open o
    LEFT JOIN LATERAL (SELECT x.to_state FROM :"schema".task_transitions x WHERE x.task_uuid = o.task_uuid AND x.most_recent OFFSET 0) AS x ON true
   WHERE (SELECT count(*) FROM open) <= 2000
   GROUP BY o.named_task_uuid
)
