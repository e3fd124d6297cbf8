-- List all queued jobs, most urgent first: locks older than the threshold (oldest first, within the searched rows), then
-- the others by id, which is the order of creation.
-- $1 cursor text: part|lock_time|id of the last row of the previous page, or NULL
-- $2 page int: maximum number of rows
-- $3 settings jsonb
-- $4 met_needs text[]
-- Indexes: queued_job_pkey, and one on queued_job(lock_time) if it exists.
WITH late AS MATERIALIZED (
  SELECT w.id, w.lock_time
    FROM (SELECT q.id, q.lock_time FROM :"schema".queued_job q ORDER BY q.id LIMIT ($3::jsonb ->> 'window')::float8::int) AS w
   WHERE w.lock_time < now() - make_interval(secs => ($3::jsonb ->> 'stale')::float8)
  UNION
  (SELECT q.id, q.lock_time FROM :"schema".queued_job q
    WHERE q.lock_time < now() - make_interval(secs => ($3::jsonb ->> 'stale')::float8)
      AND 'queue_by_lock_time' = ANY ($4::text[])
    ORDER BY q.lock_time LIMIT ($3::jsonb ->> 'head')::float8::int)
), urgent AS (
  SELECT 1 AS part, l.id, l.lock_time
    FROM late l
   WHERE $1::text IS NULL
      OR ($1::text LIKE '1|%' AND (l.lock_time, l.id) > (split_part($1::text, '|', 2)::timestamptz, split_part($1::text, '|', 3)::int8))
   ORDER BY l.lock_time, l.id
   LIMIT $2::int
), rest AS (
  SELECT 2 AS part, q.id, NULL::timestamptz AS lock_time
    FROM :"schema".queued_job q
   WHERE q.id > CASE WHEN $1::text LIKE '2|%' THEN split_part($1::text, '|', 3)::int8 ELSE -9223372036854775808 END
     AND q.id NOT IN (SELECT l.id FROM late l)
   ORDER BY q.id
   LIMIT $2::int
)
SELECT 'job:' || u.id AS id, u.part || '|' || coalesce(u.lock_time::text, '') || '|' || u.id AS cursor
  FROM (SELECT * FROM urgent UNION ALL SELECT * FROM rest) AS u
 ORDER BY u.part, u.lock_time, u.id
 LIMIT $2::int
