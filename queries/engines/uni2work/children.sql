-- List lock holders: each instance, then inconsistent locks ("inconsistent"), then unlocked jobs ("none").
-- kinds: queue
-- $1 cursor text: last holder of the previous page, or NULL
-- $2 page int: maximum number of rows
-- $3 settings jsonb
-- $4 met_needs text[]
-- Indexes: the start of queued_job_pkey, and one on queued_job(lock_time) if it exists.
WITH head AS MATERIALIZED (
  SELECT q.lock_instance, q.lock_time FROM :"schema".queued_job q ORDER BY q.id LIMIT ($3::jsonb ->> 'window')::float8::int
), holders AS (
  SELECT CASE WHEN (h.lock_instance IS NULL) <> (h.lock_time IS NULL) THEN 'inconsistent' ELSE coalesce(h.lock_instance::text, 'none') END AS holder
    FROM head h
  UNION
  SELECT CASE WHEN l.lock_instance IS NULL THEN 'inconsistent' ELSE l.lock_instance::text END
    FROM (SELECT q.lock_instance FROM :"schema".queued_job q
           WHERE q.lock_time IS NOT NULL AND 'queue_by_lock_time' = ANY ($4::text[])
           ORDER BY q.lock_time LIMIT ($3::jsonb ->> 'head')::float8::int) AS l
)
SELECT 'holder:' || h.holder AS id, h.holder AS cursor
  FROM holders h
 WHERE $1::text IS NULL OR h.holder COLLATE "C" > $1::text COLLATE "C"
 ORDER BY h.holder COLLATE "C"
 LIMIT $2::int
