-- How many tasks are in each phase, each count with its honesty.
-- $1 have text[]
-- Indexes: task__available_polled_at__idx and task_timer_pkey, both capped; the rest from the server's statistics
-- unless the table is small.
WITH capped AS (
  SELECT (SELECT count(*) FROM (SELECT FROM task WHERE status = 'Available' LIMIT 10001) a) AS ready,
         (SELECT count(*) FROM (SELECT FROM task_timer LIMIT 10001) m) AS timers
),
exact AS (
  SELECT count(*) FILTER (WHERE t.status = 'Complete') AS done,
         count(*) FILTER (WHERE t.status = 'Blocked' AND m.task_id IS NOT NULL) AS scheduled,
         count(*) FILTER (WHERE t.status = 'Blocked' AND m.task_id IS NULL) AS blocked
    FROM task t LEFT JOIN (SELECT DISTINCT task_id FROM task_timer) m ON m.task_id = t.task_id
   WHERE 'task_scan' = ANY ($1::text[]) AND 'timer_by_task' = ANY ($1::text[])
),
estimate AS (
  SELECT nullif(c.reltuples, -1) * f.freq AS n, f.label
    FROM pg_class c
    JOIN pg_attribute a ON a.attrelid = c.oid AND a.attname = 'status'
    JOIN pg_stats s ON s.schemaname = current_schema() AND s.tablename = 'task' AND s.attname = 'status'
   CROSS JOIN unnest(s.most_common_vals::text::text[], s.most_common_freqs) AS f(label, freq)
   WHERE c.oid = 'task'::regclass AND NOT 'task_scan' = ANY ($1::text[])
)
SELECT 'ready' AS phase, least(ready, 10000)::int8 AS n, CASE WHEN ready > 10000 THEN 'capped' ELSE 'exact' END AS honesty FROM capped
UNION ALL
SELECT 'scheduled', CASE WHEN 'task_scan' = ANY ($1::text[]) AND 'timer_by_task' = ANY ($1::text[]) THEN e.scheduled ELSE least(c.timers, 10000) END,
       CASE WHEN 'task_scan' = ANY ($1::text[]) AND 'timer_by_task' = ANY ($1::text[]) THEN 'exact'
            WHEN c.timers > 10000 THEN 'capped' ELSE 'estimated' END
  FROM capped c, exact e
UNION ALL
SELECT 'blocked', CASE WHEN 'task_scan' = ANY ($1::text[]) AND 'timer_by_task' = ANY ($1::text[]) THEN e.blocked
                       ELSE greatest(0, (SELECT n FROM estimate WHERE label = 'Blocked') - c.timers)::int8 END,
       CASE WHEN 'task_scan' = ANY ($1::text[]) AND 'timer_by_task' = ANY ($1::text[]) THEN 'exact'
            WHEN EXISTS (SELECT FROM estimate WHERE label = 'Blocked' AND n IS NOT NULL) AND c.timers <= 10000 THEN 'estimated' ELSE 'unknown' END
  FROM capped c, exact e
UNION ALL
SELECT 'done', CASE WHEN 'task_scan' = ANY ($1::text[]) AND 'timer_by_task' = ANY ($1::text[]) THEN e.done
                    ELSE (SELECT n FROM estimate WHERE label = 'Complete')::int8 END,
       CASE WHEN 'task_scan' = ANY ($1::text[]) AND 'timer_by_task' = ANY ($1::text[]) THEN 'exact'
            WHEN EXISTS (SELECT FROM estimate WHERE label = 'Complete' AND n IS NOT NULL) THEN 'estimated' ELSE 'unknown' END
  FROM exact e
