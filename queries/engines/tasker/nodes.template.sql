-- Return templates (versions of named tasks), with the number of their open tasks unless there are more than 2,000
-- unfinished tasks.
-- kinds: template
-- $1 ids text[]: local ids
-- Indexes: named_tasks_pkey, idx_tasks_active_with_priority_covering and idx_task_transitions_state_lookup, index-only.
WITH wanted AS MATERIALIZED (
  SELECT CASE WHEN substr(i, 10) ~* '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$' THEN substr(i, 10)::uuid END AS key FROM unnest($1::text[]) AS i
),
open AS MATERIALIZED (
  SELECT t.task_uuid, t.named_task_uuid FROM :"schema".tasks t WHERE t.complete = false ORDER BY t.priority, t.task_uuid LIMIT 2001
),
sums AS (
  SELECT o.named_task_uuid AS key,
         count(*) FILTER (WHERE x.to_state IS NULL OR x.to_state NOT IN ('cancelled', 'resolved_manually')) AS open,
         bool_or(x.to_state IN ('error', 'blocked_by_failures')) AS failed,
         bool_or(x.to_state IN ('waiting_for_dependencies')) AS blocked,
         bool_or(x.to_state IN ('initializing', 'enqueuing_steps', 'steps_in_process', 'evaluating_results')) AS running,
         bool_or(x.to_state = 'pending') AS ready, bool_or(x.to_state = 'waiting_for_retry') AS scheduled
    FROM open o
    LEFT JOIN LATERAL (SELECT x.to_state FROM :"schema".task_transitions x WHERE x.task_uuid = o.task_uuid AND x.most_recent OFFSET 0) AS x ON true
   WHERE (SELECT count(*) FROM open) <= 2000
   GROUP BY o.named_task_uuid
)
SELECT 'template:' || n.named_task_uuid AS id, 'namespace:' || n.task_namespace_uuid AS parent_id, NULL::text AS job_id, 'template' AS kind,
       n.name || ' v' || n.version || CASE WHEN (SELECT count(*) FROM open) > 2000 THEN '' ELSE ' · ' || coalesce(s.open, 0) || ' open' END AS title,
       NULL::text AS status,
       CASE WHEN (SELECT count(*) FROM open) > 2000 THEN 'unknown' WHEN s.failed THEN 'failed' WHEN s.blocked THEN 'blocked'
            WHEN s.running THEN 'running' WHEN s.ready THEN 'ready' WHEN s.scheduled THEN 'scheduled' ELSE 'done' END AS phase,
       NULL::int8 AS revision, NULL::float8 AS cpu, NULL::float8 AS poll,
       extract(epoch FROM n.created_at)::float8 AS created_at, extract(epoch FROM n.updated_at)::float8 AS changed_at,
       NULL::float8 AS due_at, NULL::text AS owner, NULL::float8 AS heartbeat_at, NULL::int8 AS attempts,
       NULL::int8 AS max_attempts, NULL::text AS error, n.xmin::text AS version, extract(epoch FROM now())::float8 AS now
  FROM :"schema".named_tasks n LEFT JOIN sums s ON s.key = n.named_task_uuid
 WHERE n.named_task_uuid = ANY (ARRAY(SELECT key FROM wanted))
