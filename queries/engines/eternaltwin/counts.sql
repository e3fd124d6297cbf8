-- Number of tasks in each phase, with the precision of each number.
-- $1 met_needs text[]: needs that are met; small tables are counted in full
-- Indexes: task__available_polled_at__idx and task_timer_pkey, both capped at 10,000. The other numbers come from the
-- server's statistics.
WITH known AS (
  SELECT 'task_scan' = ANY ($1::text[]) AND 'timer_by_task' = ANY ($1::text[]) AS whole
),
capped AS (
  SELECT (SELECT count(*) FROM (SELECT FROM :"schema".task WHERE status = 'Available' ORDER BY polled_at LIMIT 10001) a) AS ready,
         (SELECT count(*) FROM (SELECT FROM :"schema".task_timer ORDER BY deadline LIMIT 10001) m) AS timers
),
exact AS (
  SELECT count(*) FILTER (WHERE t.status = 'Complete') AS done,
         count(*) FILTER (WHERE t.status = 'Blocked' AND m.task_id IS NOT NULL) AS scheduled,
         count(*) FILTER (WHERE t.status = 'Blocked' AND m.task_id IS NULL) AS blocked
    FROM :"schema".task t LEFT JOIN (SELECT DISTINCT task_id FROM :"schema".task_timer) m ON m.task_id = t.task_id
   WHERE (SELECT whole FROM known)
),
estimate AS (
  -- One row if the table was analyzed and the role may read its statistics, else no row.
  SELECT c.reltuples * coalesce(sum(f.freq) FILTER (WHERE f.label = 'Blocked'), 0) AS asleep,
         c.reltuples * coalesce(sum(f.freq) FILTER (WHERE f.label = 'Complete'), 0) AS done
    FROM pg_class c
    JOIN pg_stats s ON s.schemaname = :'schema' AND s.tablename = 'task' AND s.attname = 'status'
   CROSS JOIN unnest(s.most_common_vals::text::text[], s.most_common_freqs) AS f(label, freq)
   WHERE c.oid = format('%I.task', :'schema')::regclass AND c.reltuples >= 0
   GROUP BY c.reltuples
),
counted AS (
  SELECT known.whole, capped.*, exact.done, exact.scheduled, exact.blocked, estimate.done AS about_done,
         CASE WHEN capped.timers <= 10000 THEN greatest(0, estimate.asleep - capped.timers) END AS about_blocked,
         estimate.asleep IS NOT NULL AS analyzed
    FROM known CROSS JOIN capped CROSS JOIN exact LEFT JOIN estimate ON true
)
SELECT 'ready' AS phase, least(ready, 10000)::int8 AS n, CASE WHEN ready > 10000 THEN 'capped' ELSE 'exact' END AS precision
  FROM counted
UNION ALL
SELECT 'scheduled', CASE WHEN whole THEN scheduled ELSE least(timers, 10000) END,
       CASE WHEN whole THEN 'exact' WHEN timers > 10000 THEN 'capped' ELSE 'estimated' END
  FROM counted
UNION ALL
SELECT 'blocked', CASE WHEN whole THEN blocked WHEN analyzed THEN about_blocked::int8 END,
       CASE WHEN whole THEN 'exact' WHEN analyzed AND about_blocked IS NOT NULL THEN 'estimated' ELSE 'unknown' END
  FROM counted
UNION ALL
SELECT 'done', CASE WHEN whole THEN done ELSE about_done::int8 END,
       CASE WHEN whole THEN 'exact' WHEN analyzed THEN 'estimated' ELSE 'unknown' END
  FROM counted
