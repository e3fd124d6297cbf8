-- How many tasks are in each phase. Open ones are counted among the first 10,000; finished ones by the server's
-- statistics, unless the table is small.
-- $1 have text[]
-- Indexes: idx_tasks_active_with_priority_covering and idx_task_transitions_state_lookup, index-only.
WITH open AS MATERIALIZED (
  SELECT t.task_uuid FROM tasks t WHERE t.complete = false ORDER BY t.priority, t.task_uuid LIMIT 10001
),
states AS MATERIALIZED (
  SELECT CASE WHEN x.to_state = 'pending' THEN 'ready'
              WHEN x.to_state IN ('initializing', 'enqueuing_steps', 'steps_in_process', 'evaluating_results') THEN 'running'
              WHEN x.to_state = 'waiting_for_dependencies' THEN 'blocked' WHEN x.to_state = 'waiting_for_retry' THEN 'scheduled'
              WHEN x.to_state IN ('blocked_by_failures', 'error') THEN 'failed' WHEN x.to_state = 'cancelled' THEN 'cancelled'
              WHEN x.to_state IN ('resolved_manually', 'complete') THEN 'done' ELSE 'unknown' END AS phase, count(*) AS n
    FROM open o
    LEFT JOIN LATERAL (SELECT x.to_state FROM task_transitions x WHERE x.task_uuid = o.task_uuid AND x.most_recent OFFSET 0) AS x ON true
   GROUP BY 1
),
total AS (
  SELECT (SELECT count(*) FROM open) AS open,
         CASE WHEN 'task_scan' = ANY ($1::text[]) THEN (SELECT count(*) FROM tasks t WHERE t.complete) END AS done,
         (SELECT nullif(c.reltuples, -1)::int8 FROM pg_class c WHERE c.oid = 'tasks'::regclass) AS estimate
)
SELECT p AS phase, coalesce(s.n, 0)::int8 AS n, CASE WHEN t.open > 10000 THEN 'capped' ELSE 'exact' END AS honesty
  FROM unnest(ARRAY['failed', 'blocked', 'running', 'ready', 'scheduled', 'cancelled', 'unknown']) AS p
  LEFT JOIN states s ON s.phase = p
 CROSS JOIN total t
 WHERE p <> 'unknown' OR s.n > 0
UNION ALL
SELECT 'done', coalesce(t.done + coalesce(s.n, 0), greatest(t.estimate - t.open, 0) + coalesce(s.n, 0))::int8,
       CASE WHEN t.done IS NOT NULL THEN CASE WHEN t.open > 10000 THEN 'capped' ELSE 'exact' END
            WHEN t.estimate IS NULL THEN 'unknown' ELSE 'estimated' END
  FROM total t LEFT JOIN states s ON s.phase = 'done'
