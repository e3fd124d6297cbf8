-- Return namespaces, with the number of their open tasks unless there are more than 2,000 unfinished tasks.
-- Indexes: task_namespaces_pkey, idx_tasks_active_with_priority_covering and idx_task_transitions_state_lookup, index-only.
WITH wanted AS MATERIALIZED (
  SELECT CASE WHEN substr(i, 11) ~* '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$' THEN substr(i, 11)::uuid END AS key FROM unnest(:ids) AS i
),
open AS MATERIALIZED (
  SELECT t.task_uuid, t.named_task_uuid FROM :"schema".tasks t WHERE t.complete = false ORDER BY t.priority, t.task_uuid LIMIT 2001
),
\ir parts/open_by_template.sql
, sums AS (
  SELECT n.task_namespace_uuid, sum(o.open)::int8 AS open, bool_or(o.failed) AS failed, bool_or(o.blocked) AS blocked, bool_or(o.running) AS running,
         bool_or(o.ready) AS ready, bool_or(o.scheduled) AS scheduled
    FROM open_by_template o JOIN :"schema".named_tasks n ON n.named_task_uuid = o.named_task_uuid
   GROUP BY n.task_namespace_uuid
)
SELECT CASE WHEN (SELECT count(*) FROM open) > 2000 THEN 'unknown' WHEN s.failed THEN 'failed'
            WHEN s.blocked THEN 'blocked' WHEN s.running THEN 'running' WHEN s.ready THEN 'ready'
            WHEN s.scheduled THEN 'scheduled' ELSE 'done' END AS phase,
       extract(epoch FROM n.created_at)::float8 AS created_at, extract(epoch FROM n.updated_at)::float8 AS changed_at,
       n.xmin::text AS version, extract(epoch FROM now())::float8 AS now,
       'namespace:' || n.task_namespace_uuid AS id, NULL::text AS parent_id, NULL::text AS job_id, 'namespace' AS kind,
       n.name || CASE WHEN (SELECT count(*) FROM open) > 2000 THEN '' ELSE ' - ' || coalesce(s.open, 0) || ' open' END AS title
  FROM :"schema".task_namespaces n LEFT JOIN sums s ON s.task_namespace_uuid = n.task_namespace_uuid
 WHERE n.task_namespace_uuid = ANY (ARRAY(SELECT key FROM wanted))
