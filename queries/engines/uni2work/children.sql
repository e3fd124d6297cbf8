-- List lock holders: each instance, then inconsistent locks ("inconsistent"), then unlocked jobs ("none").
-- kinds: queue
-- Indexes: the start of queued_job_pkey, and one on queued_job(lock_time) if it exists.
WITH head AS MATERIALIZED (
  SELECT q.lock_instance, q.lock_time FROM :"schema".queued_job q ORDER BY q.id LIMIT :window::int
), holders AS (
  SELECT CASE WHEN (h.lock_instance IS NULL) <> (h.lock_time IS NULL) THEN 'inconsistent' ELSE coalesce(h.lock_instance::text, 'none') END AS holder
    FROM head h
  UNION
  SELECT CASE WHEN l.lock_instance IS NULL THEN 'inconsistent' ELSE l.lock_instance::text END
    FROM (SELECT q.lock_instance FROM :"schema".queued_job q
           WHERE q.lock_time IS NOT NULL AND 'queue_by_lock_time' = ANY (:met_needs)
           ORDER BY q.lock_time LIMIT :head::int) AS l
)
SELECT 'holder:' || h.holder AS id, h.holder AS cursor
  FROM holders h
 WHERE :cursor IS NULL OR h.holder COLLATE "C" > :cursor COLLATE "C"
 ORDER BY h.holder COLLATE "C"
 LIMIT :limit
