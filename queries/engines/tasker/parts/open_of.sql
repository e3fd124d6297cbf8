-- Open tasks by the column `key` of `of`, unless there are more than 2,000. The file continues with the tables.
open AS MATERIALIZED (
  SELECT t.task_uuid, t.named_task_uuid FROM :"schema".tasks t WHERE t.complete = false ORDER BY t.priority, t.task_uuid LIMIT 2001
),
sums AS (
  SELECT :of.:key AS key,
         count(*) FILTER (WHERE x.to_state IS NULL OR x.to_state NOT IN ('cancelled', 'resolved_manually')) AS open,
         bool_or(x.to_state IN ('error', 'blocked_by_failures')) AS failed,
         bool_or(x.to_state IN ('waiting_for_dependencies')) AS blocked,
         bool_or(x.to_state IN ('initializing', 'enqueuing_steps', 'steps_in_process', 'evaluating_results')) AS running,
         bool_or(x.to_state = 'pending') AS ready, bool_or(x.to_state = 'waiting_for_retry') AS scheduled
    FROM open o
