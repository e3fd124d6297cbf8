-- Tasks that are blocked by failures, as `blocked`, and those of them on which an operator has decided. If an index starts with
-- the state, the newest 1,000 are among them.
wanted AS (SELECT unnest(ARRAY['blocked_by_failures']) AS to_state),
\ir open_tasks.sql
,
blocked AS MATERIALIZED (
  SELECT o.task_uuid, o.to_state, o.at FROM open_tasks o
  UNION
  (SELECT x.task_uuid, x.to_state, x.created_at FROM :"schema".task_transitions x
    WHERE x.to_state = 'blocked_by_failures' AND x.most_recent AND :ids IS NULL AND 'task_by_state' = ANY (:met_needs)
      AND x.created_at < now() - :blocked
    ORDER BY x.created_at DESC LIMIT 1000)
),
given_up AS (SELECT o.task_uuid, o.at AS created_at, false AS by_hand FROM blocked o), -- by hand ends in error
\ir decided_tasks.sql
