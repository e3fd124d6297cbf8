-- Waiting or blocked tasks whose steps are all processed. The poller only finds tasks with ready steps.
-- Indexes: those of the included parts; at most 200 tasks.
wanted AS (SELECT unnest(ARRAY['waiting_for_dependencies', 'waiting_for_retry', 'blocked_by_failures']) AS to_state),
\ir open_tasks.sql
, unfinished AS MATERIALIZED (
  SELECT s.task_uuid FROM :"schema".workflow_steps s
   WHERE s.processed = false AND s.task_uuid = ANY (ARRAY(SELECT o.task_uuid FROM open_tasks o WHERE o.at < now() - :idle))
),
waiting AS MATERIALIZED (
  SELECT o.task_uuid, o.to_state, o.at
    FROM open_tasks o
   WHERE o.at < now() - :idle
     AND o.task_uuid NOT IN (SELECT u.task_uuid FROM unfinished u)
   ORDER BY o.at, o.task_uuid LIMIT 200
),
asked AS (SELECT w.task_uuid FROM waiting w),
\ir known_steps.sql
, \ir counted_steps.sql
, nodes AS MATERIALIZED (SELECT 'task:' || w.task_uuid AS id, w.*, k.total, k.done FROM waiting w FULL JOIN counted_steps k ON k.task_uuid = w.task_uuid),
more AS (SELECT EXISTS (SELECT FROM open_tasks o WHERE o.task_uuid IS NULL) AS more),
unread AS (SELECT NULL::text AS unread WHERE (SELECT count(*) FROM waiting) = 200)
