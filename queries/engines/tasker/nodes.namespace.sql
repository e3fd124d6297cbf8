-- Return namespaces, with the number of their open tasks unless there are more than 2,000 unfinished tasks.
-- Indexes: task_namespaces_pkey, idx_tasks_active_with_priority_covering and idx_task_transitions_state_lookup, index-only.
WITH wanted AS MATERIALIZED (
  SELECT CASE WHEN substr(i, 11) ~* '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$' THEN substr(i, 11)::uuid END AS key FROM unnest(:ids) AS i
),
\set of n
\set key task_namespace_uuid
\ir parts/open_of.sql
    JOIN :"schema".named_tasks n ON n.named_task_uuid = o.named_task_uuid
\ir parts/open_of_end.sql
       'namespace:' || n.task_namespace_uuid AS id, NULL::text AS parent_id, NULL::text AS job_id, 'namespace' AS kind,
       n.name || CASE WHEN (SELECT count(*) FROM open) > 2000 THEN '' ELSE ' - ' || coalesce(s.open, 0) || ' open' END AS title
  FROM :"schema".task_namespaces n LEFT JOIN sums s ON s.key = n.task_namespace_uuid
 WHERE n.task_namespace_uuid = ANY (ARRAY(SELECT key FROM wanted))
