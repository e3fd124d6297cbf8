-- List a holder's jobs of one kind, oldest first, within the searched rows.
-- kinds: group
-- $1 parent text: local id: group:holder|kind
-- $2 cursor text: last id of the previous page, or NULL
-- $3 page int: maximum number of rows
-- $4 settings jsonb
-- $5 met_needs text[]
-- Indexes: the start of queued_job_pkey, and one on queued_job(lock_time) if it exists.
WITH seen AS (
  SELECT q.id, q.content, q.lock_instance, q.lock_time
    FROM (SELECT * FROM :"schema".queued_job ORDER BY id
           LIMIT ($4::jsonb ->> CASE WHEN $1::text LIKE 'group:none|%' THEN 'head' ELSE 'window' END)::float8::int) AS q
   WHERE 'group:' || CASE WHEN (q.lock_instance IS NULL) <> (q.lock_time IS NULL) THEN 'inconsistent'
                          ELSE coalesce(q.lock_instance::text, 'none') END = split_part($1::text, '|', 1)
  UNION
  SELECT q.id, q.content, q.lock_instance, q.lock_time
    FROM (SELECT * FROM :"schema".queued_job WHERE lock_time IS NOT NULL AND 'queue_by_lock_time' = ANY ($5::text[])
           ORDER BY lock_time LIMIT ($4::jsonb ->> 'head')::float8::int) AS q
   WHERE 'group:' || coalesce(q.lock_instance::text, 'inconsistent') = split_part($1::text, '|', 1)
)
SELECT 'job:' || w.id AS id, w.id::text AS cursor
  FROM seen w
 WHERE ($2::text IS NULL OR w.id > $2::text::int8)
   AND left(coalesce(CASE WHEN jsonb_typeof(w.content -> 'job') = 'string' THEN nullif(w.content ->> 'job', '') END,
                      CASE WHEN jsonb_typeof(w.content -> 'tag') = 'string' THEN nullif(w.content ->> 'tag', '') END,
                      CASE WHEN jsonb_typeof(w.content) = 'object'
                           THEN (SELECT nullif(k, '') FROM jsonb_object_keys(w.content) AS k LIMIT 1) END,
                      '(unrecognised)'), 80)
       = substr($1::text, strpos($1::text, '|') + 1)
 ORDER BY w.id
 LIMIT $3::int
