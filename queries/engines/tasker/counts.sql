-- Count open tasks by state: at most 5,000 of each if an index starts with the state, else among the newest 5,000. Estimate
-- finished tasks from the server's statistics, unless the table is small.
-- Indexes: one on task_transitions(to_state, created_at), or idx_tasks_active_with_priority_covering and
-- idx_task_transitions_state_lookup, index-only.
WITH \ir parts/newest_tasks.sql
, open AS MATERIALIZED (SELECT n.task_uuid FROM newest_tasks n WHERE NOT 'task_by_state' = ANY (:met_needs)),
current AS MATERIALIZED (
  SELECT x.task_uuid, x.to_state FROM :"schema".task_transitions x WHERE x.most_recent AND x.task_uuid = ANY (ARRAY(SELECT o.task_uuid FROM open o))
),
known AS (
  SELECT unnest(ARRAY['pending', 'initializing', 'enqueuing_steps', 'steps_in_process', 'evaluating_results', 'waiting_for_dependencies',
                      'waiting_for_retry', 'blocked_by_failures', 'error', 'cancelled']) AS state
),
states AS MATERIALIZED (
  SELECT coalesce(x.to_state, 'no current state') AS state, count(*) AS n, NOT EXISTS (SELECT FROM newest_tasks n WHERE n.older) AS all
    FROM (SELECT x.to_state FROM open o FULL JOIN current x ON x.task_uuid = o.task_uuid OFFSET 0) AS x -- FULL JOIN excludes nested loops
   GROUP BY 1
  UNION ALL
  SELECT k.state, least(c.n, 5000), c.n <= 5000
    FROM known k
   CROSS JOIN LATERAL (SELECT count(*) AS n
                         FROM (SELECT FROM :"schema".task_transitions x WHERE x.to_state = k.state AND x.most_recent LIMIT 5001) AS o) AS c
   WHERE 'task_by_state' = ANY (:met_needs)
),
total AS (
  SELECT coalesce((SELECT sum(s.n) FROM states s WHERE s.state IN ('complete', 'resolved_manually')), 0) AS ended,
         'task_by_state' = ANY (:met_needs) OR NOT EXISTS (SELECT FROM newest_tasks n WHERE n.older) AS all, coalesce((SELECT sum(s.n) FROM states s), 0) AS open,
         CASE WHEN 'task_scan' = ANY (:met_needs) THEN (SELECT count(*) FROM :"schema".tasks t WHERE t.complete) END AS done,
         (SELECT nullif(c.reltuples, -1)::int8 FROM pg_class c WHERE c.oid = format('%I.tasks', :'schema')::regclass) AS estimate
)
SELECT coalesce(k.state, s.state) AS status, CASE k.state WHEN 'pending' THEN 'ready' WHEN 'waiting_for_retry' THEN 'scheduled' END AS phase,
       coalesce(s.n, 0)::int8 AS n, CASE WHEN coalesce(s.all, t.all) THEN 'exact' ELSE 'capped' END AS precision
  FROM known k FULL JOIN states s ON s.state = k.state CROSS JOIN total t
 WHERE s.state IS NULL OR s.state NOT IN ('complete', 'resolved_manually')
UNION ALL
SELECT 'complete', NULL, (coalesce(t.done, greatest(t.estimate - t.open, 0)) + t.ended)::int8,
       CASE WHEN t.done IS NOT NULL THEN CASE WHEN t.all THEN 'exact' ELSE 'capped' END
            WHEN t.estimate IS NULL THEN 'unknown' ELSE 'estimated' END
  FROM total t
