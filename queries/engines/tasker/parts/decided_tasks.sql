-- Tasks of `given_up(task_uuid, created_at, by_hand)`, in error or blocked by failures, on which an operator has decided: given
-- up manually, or with a dead letter resolved after they entered this state, and without a pending dead letter.
-- Index: idx_dlq_task.
decided_tasks AS MATERIALIZED (
  WITH verdicts AS MATERIALIZED (
    SELECT d.task_uuid, bool_or(d.resolution_status = 'pending') AS open, max(d.resolution_timestamp) AS at
      FROM :"schema".tasks_dlq d WHERE d.task_uuid = ANY (ARRAY(SELECT g.task_uuid FROM given_up g))
     GROUP BY d.task_uuid
  )
  SELECT g.task_uuid
    FROM (SELECT g.*, v.open, v.at FROM given_up g FULL JOIN verdicts v ON v.task_uuid = g.task_uuid OFFSET 0) AS g -- never by nested loops
   WHERE g.task_uuid IS NOT NULL AND (g.by_hand OR g.at >= g.created_at) AND g.open IS NOT TRUE
)
