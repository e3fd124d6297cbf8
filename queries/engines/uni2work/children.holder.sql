-- List the kinds of a holder's jobs, within the searched rows.
-- kinds: holder
-- $1 parent text: local id: holder:instance (or none, or inconsistent)
-- $2 cursor text: last kind of the previous page, or NULL
-- $3 page int: maximum number of rows
-- $4 settings jsonb
-- $5 met_needs text[]
-- Indexes: the start of queued_job_pkey, and one on queued_job(lock_time) if it exists.
WITH seen AS (
  SELECT q.id, q.content, q.lock_instance, q.lock_time
    FROM (SELECT * FROM :"schema".queued_job ORDER BY id
           LIMIT ($4::jsonb ->> CASE $1::text WHEN 'holder:none' THEN 'head' ELSE 'window' END)::float8::int) AS q
   WHERE 'holder:' || CASE WHEN (q.lock_instance IS NULL) <> (q.lock_time IS NULL) THEN 'inconsistent'
                           ELSE coalesce(q.lock_instance::text, 'none') END = $1::text
  UNION ALL
  SELECT q.id, q.content, q.lock_instance, q.lock_time
    FROM (SELECT * FROM :"schema".queued_job WHERE lock_time IS NOT NULL AND 'queue_by_lock_time' = ANY ($5::text[])
           ORDER BY lock_time LIMIT ($4::jsonb ->> 'head')::float8::int) AS q
   WHERE 'holder:' || coalesce(q.lock_instance::text, 'inconsistent') = $1::text
), kinds AS (
  SELECT DISTINCT left(coalesce(CASE WHEN jsonb_typeof(w.content -> 'job') = 'string' THEN nullif(w.content ->> 'job', '') END,
                      CASE WHEN jsonb_typeof(w.content -> 'tag') = 'string' THEN nullif(w.content ->> 'tag', '') END,
                      CASE WHEN jsonb_typeof(w.content) = 'object'
                           THEN (SELECT nullif(k, '') FROM jsonb_object_keys(w.content) AS k LIMIT 1) END,
                      '(unrecognised)'), 80) AS sort
    FROM seen w
)
SELECT 'group:' || substr($1::text, 8) || '|' || k.sort AS id, k.sort AS cursor
  FROM kinds k
 WHERE $2::text IS NULL OR k.sort COLLATE "C" > $2::text COLLATE "C"
 ORDER BY k.sort COLLATE "C"
 LIMIT $3::int
