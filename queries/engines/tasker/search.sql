-- Find templates by a part of their name; tasks by a part of their context, reason or initiator, among the newest 2,000;
-- steps by a part of their error or results, among the newest 5,000 unprocessed ones.
-- bytes: values that take more are not searched
-- query: part of a text
-- Indexes: tasks_pkey and idx_workflow_steps_active_operations backwards; named_tasks is small. Values that take more
-- than 64 kB are not searched; the last row counts their tasks and steps. A step that failed stays unprocessed.
WITH tasks AS MATERIALIZED (
  SELECT t.task_uuid, pg_column_size(t.context) > :bytes AS large,
         CASE WHEN strpos(lower(concat_ws(' ', t.reason, t.initiator, t.source_system)), lower(:query)) > 0
                OR CASE WHEN pg_column_size(t.context) <= :bytes THEN strpos(lower(t.context::text), lower(:query)) > 0 END THEN 'payload' END AS matched
    FROM :"schema".tasks t ORDER BY t.task_uuid DESC LIMIT 2000
),
steps AS MATERIALIZED (
  SELECT s.workflow_step_uuid, pg_column_size(s.results) > :bytes AS large,
         CASE WHEN pg_column_size(s.results) <= :bytes AND strpos(lower(s.results::text), lower(:query)) > 0
              THEN CASE WHEN strpos(lower(s.results #>> '{error,message}'), lower(:query)) > 0 THEN 'error' ELSE 'payload' END END AS matched
    FROM :"schema".workflow_steps s WHERE s.processed = false ORDER BY s.workflow_step_uuid DESC LIMIT 5000
),
templates AS MATERIALIZED (
  SELECT n.named_task_uuid, n.name, n.version FROM :"schema".named_tasks n LIMIT 10000
)
(SELECT 'template:' || n.named_task_uuid AS id, 'title' AS matched, NULL::text AS cursor
   FROM templates n
  WHERE strpos(lower(n.name), lower(:query)) > 0 AND :query <> '' ORDER BY n.name, n.version LIMIT :limit)
UNION ALL
(SELECT 'step:' || s.workflow_step_uuid, s.matched, NULL
   FROM steps s WHERE s.matched IS NOT NULL AND :query <> '' ORDER BY s.matched, s.workflow_step_uuid DESC LIMIT :limit)
UNION ALL
(SELECT 'task:' || t.task_uuid, t.matched, NULL
   FROM tasks t WHERE t.matched IS NOT NULL AND :query <> '' ORDER BY t.task_uuid DESC LIMIT :limit)
UNION ALL
SELECT NULL, NULL, 'names of templates, contexts of '
       || CASE WHEN (SELECT count(*) FROM tasks) < 2000 THEN 'all tasks' ELSE 'the newest 2,000 tasks only' END || ', errors and results of '
       || CASE WHEN (SELECT count(*) FROM steps) < 5000 THEN 'all unprocessed steps' ELSE 'the newest 5,000 unprocessed steps only' END
       || (SELECT CASE count(*) WHEN 0 THEN '' ELSE ', without values of more than 64 kB in ' || count(*) || ' of them' END
             FROM (SELECT FROM tasks WHERE large AND matched IS NULL UNION ALL SELECT FROM steps WHERE large) AS l)
