-- Tasks that are blocked because steps permanently failed, with these steps. parts/unblocked_tasks.sql has those without such steps.
\ir blocked_tasks.sql
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
)
