-- Return namespaces, with the number of their open tasks unless there are more than 2,000 unfinished tasks.
-- Indexes: task_namespaces_pkey, those of the included part.
WITH wanted AS MATERIALIZED (
  SELECT CASE WHEN substr(i, 11) ~* '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$' THEN substr(i, 11)::uuid END AS key FROM unnest(:ids) AS i
),
\ir parts/open_by_template.sql
SELECT coalesce(o.phase, 'done') AS phase, extract(epoch FROM n.created_at)::float8 AS created_at, extract(epoch FROM n.updated_at)::float8 AS changed_at,
       n.xmin::text AS version, extract(epoch FROM now())::float8 AS now,
       'namespace:' || n.task_namespace_uuid AS id, NULL::text AS parent_id, NULL::text AS job_id, 'namespace' AS kind,
       n.name || CASE WHEN o.phase = 'unknown' THEN '' ELSE ' - ' || coalesce(o.open, 0) || ' open' END AS title
  FROM :"schema".task_namespaces n
  LEFT JOIN open_by_template o ON o.task_namespace_uuid = n.task_namespace_uuid OR o.phase = 'unknown'
 WHERE n.task_namespace_uuid = ANY (ARRAY(SELECT key FROM wanted))
