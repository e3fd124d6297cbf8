-- Tasks of `resting(task_uuid)`, in error or blocked by failures, on which an operator has decided: given up manually, or
-- with a dead letter resolved after they entered this state, and without a pending dead letter.
-- Indexes: the unique index on current task transitions, idx_dlq_task.
given_up AS MATERIALIZED (
  SELECT x.task_uuid, x.created_at, x.to_state = 'error' AND x.transition_metadata ->> 'operator' IS NOT NULL AS by_hand
    FROM :"schema".task_transitions x WHERE x.most_recent AND x.task_uuid = ANY (ARRAY(SELECT r.task_uuid FROM resting r))
),
verdicts AS MATERIALIZED (
  SELECT d.task_uuid, bool_or(d.resolution_status = 'pending') AS open, max(d.resolution_timestamp) AS at
    FROM :"schema".tasks_dlq d WHERE d.task_uuid = ANY (ARRAY(SELECT r.task_uuid FROM resting r))
   GROUP BY d.task_uuid
),
decided_tasks AS MATERIALIZED (
  SELECT g.task_uuid
    FROM (SELECT g.*, v.open, v.at FROM given_up g FULL JOIN verdicts v ON v.task_uuid = g.task_uuid OFFSET 0) AS g -- never by nested loops
   WHERE g.task_uuid IS NOT NULL AND (g.by_hand OR g.at >= g.created_at) AND g.open IS NOT TRUE
)
