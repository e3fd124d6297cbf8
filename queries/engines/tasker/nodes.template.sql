-- Return templates (versions of named tasks), with the number of their open tasks unless there are more than 2,000
-- unfinished tasks.
-- Indexes: named_tasks_pkey, idx_tasks_active_with_priority_covering and idx_task_transitions_state_lookup, index-only.
WITH wanted AS MATERIALIZED (
  SELECT CASE WHEN substr(i, 10) ~* '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$' THEN substr(i, 10)::uuid END AS key FROM unnest(:ids) AS i
),
open AS MATERIALIZED (
  SELECT t.task_uuid, t.named_task_uuid FROM :"schema".tasks t WHERE t.complete = false ORDER BY t.priority, t.task_uuid LIMIT 2001
),
\ir parts/open_by_template.sql
SELECT CASE WHEN (SELECT count(*) FROM open) > 2000 THEN 'unknown' WHEN s.failed THEN 'failed'
            WHEN s.blocked THEN 'blocked' WHEN s.running THEN 'running' WHEN s.ready THEN 'ready'
            WHEN s.scheduled THEN 'scheduled' ELSE 'done' END AS phase,
       extract(epoch FROM n.created_at)::float8 AS created_at, extract(epoch FROM n.updated_at)::float8 AS changed_at,
       n.xmin::text AS version, extract(epoch FROM now())::float8 AS now,
       'template:' || n.named_task_uuid AS id, 'namespace:' || n.task_namespace_uuid AS parent_id, NULL::text AS job_id, 'template' AS kind,
       n.name || ' v' || n.version || CASE WHEN (SELECT count(*) FROM open) > 2000 THEN '' ELSE ' - ' || coalesce(s.open, 0) || ' open' END AS title
  FROM :"schema".named_tasks n LEFT JOIN open_by_template s ON s.named_task_uuid = n.named_task_uuid
 WHERE n.named_task_uuid = ANY (ARRAY(SELECT key FROM wanted))
