-- Queues by name, then workers by number. Queues are found by a loose index scan. No ORDER BY at the end, because it
-- would scan all queues first.
-- needs: job_by_queue
-- cursor: q|name or w|number of the last row of the previous page, or NULL
-- Index: procrastinate_jobs_queue_name_idx_v1, procrastinate_workers_pkey.
WITH RECURSIVE queues AS (
  (SELECT j.queue_name AS name FROM :"schema".procrastinate_jobs j
    WHERE :cursor IS NULL OR (:cursor LIKE 'q|%' AND j.queue_name > substr(:cursor, 3))
    ORDER BY j.queue_name LIMIT 1)
  UNION ALL
  SELECT (SELECT j.queue_name FROM :"schema".procrastinate_jobs j WHERE j.queue_name > q.name ORDER BY j.queue_name LIMIT 1)
    FROM queues q WHERE q.name IS NOT NULL
)
(SELECT 'queue:' || q.name AS id, 'q|' || q.name AS cursor FROM queues q WHERE q.name IS NOT NULL LIMIT :limit)
UNION ALL
(SELECT 'worker:' || w.id, 'w|' || w.id
   FROM :"schema".procrastinate_workers w
  WHERE w.id > CASE WHEN :cursor LIKE 'w|%' THEN substr(:cursor, 3)::int8 ELSE -1 END
  ORDER BY w.id LIMIT :limit)
LIMIT :limit
