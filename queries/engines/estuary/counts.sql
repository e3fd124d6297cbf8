-- Number of tasks by status, with the precision of each number. A small table is scanned. In a large one, polling, ready
-- and reclaimable tasks are due, so they are counted among the first 10,000 due rows; lapsed ones count as reclaimable.
-- Sleeping and suspended tasks are counted up to 10,000, or estimated if the server's statistics show more than 50,000.
-- Index: idx_tasks_ready_at, on both sides of now() and for NULLs; index-only scans except for due rows.
WITH due AS MATERIALIZED (
  SELECT t.heartbeat = '0001-01-01T00:00:00Z'::timestamptz AS idle,
         t.heartbeat > now() - 0.75 * :heartbeat_timeout_of_kind AS alive
    FROM :"schema".tasks t
   WHERE t.wake_at <= now()
   ORDER BY t.wake_at
   LIMIT 10001
),
estimate AS (
  SELECT c.reltuples * s.null_frac AS blocked, c.reltuples * (1 - s.null_frac) - (SELECT count(*) FROM due) AS scheduled
    FROM pg_class c JOIN pg_stats s ON s.schemaname = :'schema' AND s.tablename = 'tasks' AND s.attname = 'wake_at'
   WHERE c.oid = format('%I.tasks', :'schema')::regclass AND c.reltuples > 0
),
counted AS (
  SELECT 'reclaimable' AS status, count(*) FILTER (WHERE NOT idle AND NOT alive) AS n, count(*) AS rows_read, NULL::float8 AS about FROM due
  UNION ALL SELECT 'polling', count(*) FILTER (WHERE NOT idle AND alive), count(*), NULL FROM due
  UNION ALL SELECT 'ready', count(*) FILTER (WHERE idle), count(*), NULL FROM due
  UNION ALL SELECT 'sleeping', count(*), count(*), (SELECT scheduled FROM estimate)
              FROM (SELECT FROM :"schema".tasks WHERE wake_at > now() AND NOT coalesce((SELECT scheduled > 50000 FROM estimate), false) ORDER BY wake_at LIMIT 10001) AS s
  UNION ALL SELECT 'suspended', count(*), count(*), (SELECT blocked FROM estimate)
              FROM (SELECT FROM :"schema".tasks WHERE wake_at IS NULL AND NOT coalesce((SELECT blocked > 50000 FROM estimate), false) ORDER BY wake_at LIMIT 10001) AS s
),
seen AS (
  SELECT t.wake_at, t.heartbeat, t.heartbeat = '0001-01-01T00:00:00Z'::timestamptz AS idle, :heartbeat_timeout_of_kind AS timeout
    FROM :"schema".tasks t WHERE 'task_scan' = ANY (:met_needs)
)
, \ir parts/statuses.sql
SELECT w.status, count(s.status) AS n, 'exact' AS precision
  FROM unnest(ARRAY['orphaned', 'suspended', 'lapsed', 'reclaimable', 'polling', 'ready', 'sleeping']) AS w(status)
  LEFT JOIN statuses s ON s.status = w.status
 WHERE 'task_scan' = ANY (:met_needs)
 GROUP BY w.status
UNION ALL
SELECT c.status,
       CASE WHEN c.about > 50000 THEN c.about::int8 WHEN c.rows_read <= 10000 THEN c.n WHEN c.about > 10000 THEN c.about::int8
            ELSE least(c.n, 10000) END AS n,
       CASE WHEN c.about > 50000 THEN 'estimated' WHEN c.rows_read <= 10000 THEN 'exact' WHEN c.about > 10000 THEN 'estimated'
            ELSE 'capped' END AS precision
  FROM counted c
 WHERE NOT 'task_scan' = ANY (:met_needs)
UNION ALL
SELECT 'orphaned', NULL, 'unknown' WHERE NOT 'task_scan' = ANY (:met_needs)
