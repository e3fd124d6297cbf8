-- Tasks that are blocked by failures, with their steps in error, except tasks on which an operator has decided. A task without
-- such steps has others that have not ended: the engine does not move a task when a step is resolved by hand. not_finalized finds
-- those whose steps are all done. If an index starts with the state, the newest 1,000 tasks are read, too. A finding selects by
-- `failed` one of the two sorts; the planner then reads only this one.
-- Indexes: those of the included parts, idx_workflow_steps_task_readiness, the steps' state_lookup.
wanted AS (SELECT unnest(ARRAY['blocked_by_failures']) AS to_state),
\ir open_tasks.sql
, blocked AS MATERIALIZED (
  SELECT o.task_uuid, o.to_state, o.at FROM open_tasks o WHERE o.at < now() - :blocked
  UNION
  (SELECT x.task_uuid, x.to_state, x.created_at FROM :"schema".task_transitions x
    WHERE x.to_state = 'blocked_by_failures' AND x.most_recent AND :ids IS NULL AND 'task_by_state' = ANY (:met_needs)
      AND x.created_at < now() - :blocked
    ORDER BY x.created_at DESC LIMIT 1000)
),
given_up AS (SELECT o.task_uuid, o.at AS created_at, false AS by_hand FROM blocked o), -- by hand ends in error
\ir decided_tasks.sql
, undecided AS MATERIALIZED (SELECT o.* FROM blocked o WHERE o.task_uuid NOT IN (SELECT d.task_uuid FROM decided_tasks d)),
asked AS MATERIALIZED (SELECT o.task_uuid FROM undecided o ORDER BY o.at DESC, o.task_uuid DESC LIMIT :limit),
\ir failed_steps.sql
, open AS MATERIALIZED (
  SELECT s.workflow_step_uuid, s.task_uuid FROM :"schema".workflow_steps s
   WHERE s.processed = false AND s.task_uuid = ANY (ARRAY(SELECT o.task_uuid FROM undecided o))
),
in_error AS MATERIALIZED (
  SELECT x.workflow_step_uuid FROM :"schema".workflow_step_transitions x
   WHERE x.most_recent AND x.to_state = 'error' AND x.workflow_step_uuid = ANY (ARRAY(SELECT s.workflow_step_uuid FROM open s))
),
resolved AS (
  SELECT s.task_uuid, count(*) AS open FROM open s FULL JOIN in_error f ON f.workflow_step_uuid = s.workflow_step_uuid
   GROUP BY s.task_uuid HAVING count(f.workflow_step_uuid) = 0
),
nodes AS (
  SELECT 'task:' || b.task_uuid AS id, b.*, true AS failed, f.n, f.steps, f.message
    FROM undecided b
    JOIN (SELECT f.task_uuid, count(*) AS n, left(string_agg(f.name, ', ' ORDER BY f.workflow_step_uuid), 200) AS steps,
                 (array_agg(left(f.message, 200) ORDER BY f.workflow_step_uuid))[1] AS message
            FROM failed_steps f GROUP BY f.task_uuid) AS f ON f.task_uuid = b.task_uuid
  UNION ALL
  SELECT 'task:' || b.task_uuid, b.*, false, r.open, NULL, NULL FROM undecided b JOIN resolved r ON r.task_uuid = b.task_uuid
),
more AS (SELECT EXISTS (SELECT FROM open_tasks o WHERE o.task_uuid IS NULL) AS more)
