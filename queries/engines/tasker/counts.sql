-- Count tasks by phase. Count open tasks by state: at most 5,000 of each if an index starts with the state, else among the
-- newest 5,000. Estimate finished tasks from the server's statistics, unless the table is small.
-- $1 met_needs text[]
-- Indexes: one on task_transitions(to_state, created_at), or idx_tasks_active_with_priority_covering and
-- idx_task_transitions_state_lookup, index-only.
WITH RECURSIVE
\ir parts/newest_tasks.sql
,
open AS MATERIALIZED (SELECT n.task_uuid FROM newest_tasks n WHERE NOT 'task_by_state' = ANY ($1::text[])),
current AS MATERIALIZED (
  SELECT x.task_uuid, x.to_state FROM :"schema".task_transitions x WHERE x.most_recent AND x.task_uuid = ANY (ARRAY(SELECT o.task_uuid FROM open o))
),
known(state, phase) AS (
  VALUES ('pending', 'ready'), ('initializing', 'running'), ('enqueuing_steps', 'running'), ('steps_in_process', 'running'),
         ('evaluating_results', 'running'), ('waiting_for_dependencies', 'blocked'), ('waiting_for_retry', 'scheduled'),
         ('blocked_by_failures', 'failed'), ('error', 'failed'), ('cancelled', 'cancelled'), ('resolved_manually', 'done'), ('complete', 'done')
),
states AS MATERIALIZED (
  SELECT coalesce(k.phase, 'unknown') AS phase, count(*) AS n, NOT EXISTS (SELECT FROM older_tasks) AS all
    FROM (SELECT x.to_state FROM open o FULL JOIN current x ON x.task_uuid = o.task_uuid OFFSET 0) AS x -- FULL JOIN excludes nested loops
    LEFT JOIN known k ON k.state = x.to_state
   GROUP BY 1
  UNION ALL
  SELECT k.phase, sum(least(c.n, 5000))::int8, max(c.n) <= 5000
    FROM known k
   CROSS JOIN LATERAL (SELECT count(*) AS n
                         FROM (SELECT FROM :"schema".task_transitions x WHERE x.to_state = k.state AND x.most_recent LIMIT 5001) AS o) AS c
   WHERE 'task_by_state' = ANY ($1::text[]) AND k.phase <> 'done'
   GROUP BY k.phase
),
total AS (
  SELECT 'task_by_state' = ANY ($1::text[]) OR NOT EXISTS (SELECT FROM older_tasks) AS all, coalesce((SELECT sum(s.n) FROM states s), 0) AS open,
         CASE WHEN 'task_scan' = ANY ($1::text[]) THEN (SELECT count(*) FROM :"schema".tasks t WHERE t.complete) END AS done,
         (SELECT nullif(c.reltuples, -1)::int8 FROM pg_class c WHERE c.oid = format('%I.tasks', :'schema')::regclass) AS estimate
)
SELECT p AS phase, coalesce(s.n, 0)::int8 AS n, CASE WHEN coalesce(s.all, t.all) THEN 'exact' ELSE 'capped' END AS precision
  FROM unnest(ARRAY['failed', 'blocked', 'running', 'ready', 'scheduled', 'cancelled', 'unknown']) AS p
  LEFT JOIN states s ON s.phase = p
 CROSS JOIN total t
 WHERE p <> 'unknown' OR s.n > 0
UNION ALL
SELECT 'done', coalesce(t.done + coalesce(s.n, 0), greatest(t.estimate - t.open, 0) + coalesce(s.n, 0))::int8,
       CASE WHEN t.done IS NOT NULL THEN CASE WHEN t.all THEN 'exact' ELSE 'capped' END
            WHEN t.estimate IS NULL THEN 'unknown' ELSE 'estimated' END
  FROM total t LEFT JOIN states s ON s.phase = 'done'
