-- Tasks that are blocked by failures although none of their steps is in error any more: the engine does not move a task
-- when a step is resolved by hand. not_finalized finds those whose steps are all done.
-- Indexes: those of the included parts, idx_workflow_steps_task_readiness, the steps' state_lookup.
wanted AS (SELECT unnest(ARRAY['blocked_by_failures']) AS to_state),
\ir open_tasks.sql
, steps AS MATERIALIZED (
  SELECT s.workflow_step_uuid, s.task_uuid FROM :"schema".workflow_steps s
   WHERE s.processed = false AND s.task_uuid = ANY (ARRAY(SELECT o.task_uuid FROM open_tasks o))
),
failed AS MATERIALIZED (
  SELECT x.workflow_step_uuid FROM :"schema".workflow_step_transitions x
   WHERE x.most_recent AND x.to_state = 'error' AND x.workflow_step_uuid = ANY (ARRAY(SELECT s.workflow_step_uuid FROM steps s))
),
counted AS (
  SELECT s.task_uuid, count(*) AS n, bool_or(f.workflow_step_uuid IS NOT NULL) AS failed
    FROM steps s FULL JOIN failed f ON f.workflow_step_uuid = s.workflow_step_uuid
   GROUP BY s.task_uuid
),
given_up AS MATERIALIZED (
  SELECT o.task_uuid, o.at AS created_at, false AS by_hand, c.n -- by hand ends in error
    FROM open_tasks o JOIN counted c ON c.task_uuid = o.task_uuid AND NOT c.failed
),
\ir decided_tasks.sql
, nodes AS (
  SELECT 'task:' || o.task_uuid AS id, o.task_uuid, o.created_at AS at, o.n
    FROM given_up o WHERE o.task_uuid NOT IN (SELECT d.task_uuid FROM decided_tasks d)
),
more AS (SELECT EXISTS (SELECT FROM open_tasks o WHERE o.task_uuid IS NULL) AS more)
