-- Find tasks that are blocked because a step permanently failed. still_blocked finds those without such a step.
WITH RECURSIVE
\ir ../parts/blocked_tasks.sql
, asked AS MATERIALIZED (
  SELECT o.task_uuid, o.at
    FROM open_tasks o
   WHERE o.at < now() - :blocked
     AND o.task_uuid NOT IN (SELECT d.task_uuid FROM decided_tasks d)
   ORDER BY o.at, o.task_uuid
   LIMIT :limit
),
\ir ../parts/failed_steps.sql
(SELECT 'task:' || b.task_uuid AS id, extract(epoch FROM b.at)::float8 AS since,
        jsonb_build_object('failed', f.steps, 'steps', f.names, 'message', coalesce(f.message, 'no message'),
                           'entered', date_trunc('second', b.at)::text, 'task', b.task_uuid) AS evidence
   FROM asked b
   JOIN (SELECT f.task_uuid, count(*) AS steps, left(string_agg(f.name, ', ' ORDER BY f.workflow_step_uuid), 200) AS names,
                     (array_agg(left(f.message, 200) ORDER BY f.workflow_step_uuid))[1] AS message
                FROM failed_steps f GROUP BY f.task_uuid) AS f ON f.task_uuid = b.task_uuid
\ir ../parts/more.sql
