-- Count queued rows by phase, with the precision of each count. Finished jobs have no row.
-- Index: the start of queued_job_pkey; exact if the queue is not longer than the window.
WITH seen AS (
  SELECT CASE WHEN (w.lock_instance IS NULL) <> (w.lock_time IS NULL) THEN 'unknown'
              WHEN w.lock_instance IS NULL THEN 'ready' ELSE 'running' END AS phase
    FROM (SELECT q.lock_instance, q.lock_time FROM :"schema".queued_job q ORDER BY q.id LIMIT :window::int + 1) AS w
), counted AS (
  SELECT CASE WHEN count(*) > :window::int THEN 'capped' ELSE 'exact' END AS precision FROM seen
)
SELECT p.phase, (SELECT count(*) FROM seen s WHERE s.phase = p.phase)::int8 AS n, h.precision
  FROM unnest(ARRAY['running', 'ready', 'unknown']) AS p(phase) CROSS JOIN counted h
UNION ALL
SELECT 'done', NULL, 'unknown'
