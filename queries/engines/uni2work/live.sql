-- List all queued jobs, most urgent first: locks older than the threshold (oldest first, within the searched rows),
-- then the others by id, which is the order of creation.
-- cursor: part|lock_time|id of the last row of the previous page, or NULL
-- Indexes: queued_job_pkey, and one on queued_job(lock_time) if it exists.
WITH late AS MATERIALIZED (
  SELECT w.id, w.lock_time
    FROM (SELECT q.id, q.lock_time FROM :"schema".queued_job q ORDER BY q.id LIMIT :window::int) AS w
   WHERE w.lock_time < now() - :stale
  UNION
  (SELECT q.id, q.lock_time FROM :"schema".queued_job q
    WHERE q.lock_time < now() - :stale
      AND 'queue_by_lock_time' = ANY (:met_needs)
    ORDER BY q.lock_time LIMIT :head::int)
), urgent AS (
  SELECT 1 AS part, l.id, l.lock_time
    FROM late l
   WHERE :cursor IS NULL
      OR (:cursor LIKE '1|%' AND (l.lock_time, l.id) > (split_part(:cursor, '|', 2)::timestamptz, split_part(:cursor, '|', 3)::int8))
   ORDER BY l.lock_time, l.id
   LIMIT :limit
), rest AS (
  SELECT 2 AS part, q.id, NULL::timestamptz AS lock_time
    FROM :"schema".queued_job q
   WHERE q.id > CASE WHEN :cursor LIKE '2|%' THEN split_part(:cursor, '|', 3)::int8 ELSE -9223372036854775808 END
     AND q.id NOT IN (SELECT l.id FROM late l)
   ORDER BY q.id
   LIMIT :limit
)
SELECT 'job:' || u.id AS id, u.part || '|' || coalesce(u.lock_time::text, '') || '|' || u.id AS cursor
  FROM (SELECT * FROM urgent UNION ALL SELECT * FROM rest) AS u
 ORDER BY u.part, u.lock_time, u.id
 LIMIT :limit
