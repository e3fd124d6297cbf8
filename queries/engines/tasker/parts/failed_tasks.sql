-- Tasks that are blocked because steps permanently failed, with these steps, except those on which an operator has
-- decided. If an index starts with the state, the newest 1,000 are among them. parts/unblocked_tasks.sql has those
-- without such steps.
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
, asked AS MATERIALIZED (
  SELECT o.task_uuid, o.at
    FROM blocked o
   WHERE o.at < now() - :blocked
     AND o.task_uuid NOT IN (SELECT d.task_uuid FROM decided_tasks d)
   ORDER BY o.at DESC, o.task_uuid DESC
   LIMIT :limit
),
\ir failed_steps.sql
, nodes AS (
  SELECT 'task:' || b.task_uuid AS id, b.*, f.failed, f.steps, f.message
    FROM asked b
    JOIN (SELECT f.task_uuid, count(*) AS failed, left(string_agg(f.name, ', ' ORDER BY f.workflow_step_uuid), 200) AS steps,
                 (array_agg(left(f.message, 200) ORDER BY f.workflow_step_uuid))[1] AS message
            FROM failed_steps f GROUP BY f.task_uuid) AS f ON f.task_uuid = b.task_uuid
),
more AS (SELECT EXISTS (SELECT FROM open_tasks o WHERE o.task_uuid IS NULL) AS more)
