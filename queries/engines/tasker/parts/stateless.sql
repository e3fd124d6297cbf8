-- Tasks and steps without a current transition; the engine treats them as pending. A step without any transition is
-- healthy: a decision or a batch created it, and it gets its first transition when it is enqueued. A task gets its
-- first transition in the transaction that creates it; without one, no poll finds it. Search the requested ids, or the
-- newest 5,000 open tasks and steps.
-- Indexes: those of open tasks and steps, the state_lookups, index-only.
\ir newest_tasks.sql
, task_ids AS MATERIALIZED (
  SELECT n.task_uuid FROM newest_tasks n WHERE :ids IS NULL
  UNION ALL
  SELECT substr(i, 6)::uuid FROM unnest(:ids) AS i WHERE i LIKE 'task:%'
),
step_ids AS MATERIALIZED (
  (SELECT s.workflow_step_uuid FROM :"schema".workflow_steps s
    WHERE s.processed = false AND :ids IS NULL ORDER BY s.workflow_step_uuid DESC LIMIT 5000)
  UNION ALL
  SELECT substr(i, 6)::uuid FROM unnest(:ids) AS i WHERE i LIKE 'step:%'
),
current_tasks AS MATERIALIZED (
  SELECT x.task_uuid FROM :"schema".task_transitions x WHERE x.most_recent AND x.task_uuid = ANY (ARRAY(SELECT o.task_uuid FROM task_ids o))
),
current_steps AS MATERIALIZED (
  SELECT x.workflow_step_uuid FROM :"schema".workflow_step_transitions x
   WHERE x.most_recent AND x.workflow_step_uuid = ANY (ARRAY(SELECT o.workflow_step_uuid FROM step_ids o))
),
nodes AS (
  SELECT 'task:' || t.task_uuid AS id, t.task_uuid, 'task' AS what, t.created_at AS at,
         (SELECT count(*) FROM :"schema".task_transitions y WHERE y.task_uuid = t.task_uuid) AS transitions,
         (SELECT y.to_state FROM :"schema".task_transitions y WHERE y.task_uuid = t.task_uuid ORDER BY y.sort_key DESC LIMIT 1) AS last
    FROM task_ids o
    CROSS JOIN LATERAL (SELECT t.task_uuid, t.created_at FROM :"schema".tasks t WHERE t.task_uuid = o.task_uuid OFFSET 0) AS t
   WHERE o.task_uuid NOT IN (SELECT c.task_uuid FROM current_tasks c)
  UNION ALL
  SELECT 'step:' || s.workflow_step_uuid, s.task_uuid, 'step', s.created_at,
         (SELECT count(*) FROM :"schema".workflow_step_transitions y WHERE y.workflow_step_uuid = s.workflow_step_uuid),
         (SELECT y.to_state FROM :"schema".workflow_step_transitions y WHERE y.workflow_step_uuid = s.workflow_step_uuid ORDER BY y.sort_key DESC LIMIT 1)
    FROM step_ids o
    CROSS JOIN LATERAL (SELECT s.workflow_step_uuid, s.task_uuid, s.created_at FROM :"schema".workflow_steps s WHERE s.workflow_step_uuid = o.workflow_step_uuid OFFSET 0) AS s
   WHERE o.workflow_step_uuid NOT IN (SELECT c.workflow_step_uuid FROM current_steps c)
     AND EXISTS (SELECT FROM :"schema".workflow_step_transitions y WHERE y.workflow_step_uuid = o.workflow_step_uuid)
),
more AS (SELECT EXISTS (SELECT FROM newest_tasks n WHERE n.older) OR (SELECT count(*) FROM step_ids) = 5000 AS more)
