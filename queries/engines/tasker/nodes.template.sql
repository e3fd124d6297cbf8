-- Return templates (versions of named tasks), with the number of their open tasks unless there are more than 2,000
-- unfinished tasks.
-- Indexes: named_tasks_pkey, idx_tasks_active_with_priority_covering and idx_task_transitions_state_lookup, index-only.
WITH wanted AS MATERIALIZED (
  SELECT CASE WHEN substr(i, 10) ~* '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$' THEN substr(i, 10)::uuid END AS key FROM unnest(:ids) AS i
),
\set of o
\set key named_task_uuid
\ir parts/open_of.sql
\ir parts/open_of_end.sql
       'template:' || n.named_task_uuid AS id, 'namespace:' || n.task_namespace_uuid AS parent_id, NULL::text AS job_id, 'template' AS kind,
       n.name || ' v' || n.version || CASE WHEN (SELECT count(*) FROM open) > 2000 THEN '' ELSE ' - ' || coalesce(s.open, 0) || ' open' END AS title
  FROM :"schema".named_tasks n LEFT JOIN sums s ON s.key = n.named_task_uuid
 WHERE n.named_task_uuid = ANY (ARRAY(SELECT key FROM wanted))
