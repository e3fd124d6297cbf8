-- Number of tasks in each phase, with the precision of each number.
-- Indexes: task__available_polled_at__idx and task_timer_pkey, both capped at 10,000. Of a small table all
-- others are counted, too; else they come from the server's statistics, and each timer counts as a scheduled task.
WITH known AS (
  SELECT 'task_scan' = ANY (:met_needs) AND 'timer_by_task' = ANY (:met_needs) AS whole
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
         CASE WHEN capped.timers <= 10000 AND estimate.asleep IS NOT NULL THEN greatest(0, estimate.asleep - capped.timers) END AS about_blocked
    FROM known CROSS JOIN capped CROSS JOIN exact LEFT JOIN estimate ON true
)
SELECT s.*
  FROM counted
 CROSS JOIN LATERAL (VALUES
   ('Available', NULL, least(ready, 10000), CASE WHEN ready > 10000 THEN 'capped' ELSE 'exact' END),
   ('Blocked', 'scheduled', CASE WHEN whole THEN scheduled ELSE least(timers, 10000) END,
    CASE WHEN whole THEN 'exact' WHEN timers > 10000 THEN 'capped' ELSE 'estimated' END),
   ('Blocked', 'blocked', CASE WHEN whole THEN blocked ELSE about_blocked::int8 END,
    CASE WHEN whole THEN 'exact' WHEN about_blocked IS NOT NULL THEN 'estimated' ELSE 'unknown' END),
   ('Complete', NULL, CASE WHEN whole THEN done ELSE about_done::int8 END,
    CASE WHEN whole THEN 'exact' WHEN about_done IS NOT NULL THEN 'estimated' ELSE 'unknown' END)) AS s(status, phase, n, precision)
