-- A job that nobody has begun goes. Locked rows are neither changed nor locked (FOR UPDATE): deleting one does not stop
-- the worker, and breaks off its SERIALIZABLE transaction, so that what it has done is done again.
-- $1 ids text[]: local ids
-- $2 versions text[]: what the operator saw of each: instance, time, and who wrote the row
-- Index: queued_job_pkey.

-- :lock
SELECT 'job:' || q.id AS id, coalesce(q.lock_instance::text, '-') || '@' || coalesce(q.lock_time::text, '-') || ':' || q.xmin AS version,
\ir ../parts/same.sql
       AS same
  FROM :"schema".queued_job q
 CROSS JOIN LATERAL (SELECT ($2::text[])[array_position($1::text[], 'job:' || q.id)] AS version) AS seen
 WHERE q.id = ANY (ARRAY(SELECT substr(i, 5)::int8 FROM unnest($1::text[]) AS i))
   AND (q.lock_instance IS NOT NULL OR q.lock_time IS NOT NULL)

-- :lock
SELECT 'job:' || q.id AS id, coalesce(q.lock_instance::text, '-') || '@' || coalesce(q.lock_time::text, '-') || ':' || q.xmin AS version,
\ir ../parts/same.sql
       AS same
  FROM :"schema".queued_job q
 CROSS JOIN LATERAL (SELECT ($2::text[])[array_position($1::text[], 'job:' || q.id)] AS version) AS seen
 WHERE q.id = ANY (ARRAY(SELECT substr(i, 5)::int8 FROM unnest($1::text[]) AS i))
   AND q.lock_instance IS NULL AND q.lock_time IS NULL
 ORDER BY q.id
   FOR UPDATE OF q SKIP LOCKED

-- :refused
SELECT 'job:' || q.id AS id,
       'it is locked by ' || coalesce('the instance ' || q.lock_instance, 'nobody knows whom') || ': deleting the row would not stop the worker. Release it first, if that instance is gone' AS why
  FROM :"schema".queued_job q
 WHERE q.id = ANY (ARRAY(SELECT substr(i, 5)::int8 FROM unnest($1::text[]) AS i))
   AND (q.lock_instance IS NOT NULL OR q.lock_time IS NOT NULL)

-- :rows
SELECT 'job:' || q.id AS id, 'queued_job' AS "table", q.id::text AS key,
       to_jsonb(q) - 'content' || jsonb_build_object('content', q.content::text) AS row
  FROM :"schema".queued_job q
 WHERE q.id = ANY (ARRAY(SELECT substr(i, 5)::int8 FROM unnest($1::text[]) AS i))

-- :change
DELETE FROM :"schema".queued_job q
 USING unnest($1::text[], $2::text[]) AS seen(id, version)
 WHERE q.id = substr(seen.id, 5)::int8
   AND q.lock_instance IS NULL AND q.lock_time IS NULL
   AND coalesce(q.lock_instance::text, '-') || '@' || coalesce(q.lock_time::text, '-') || ':' || q.xmin = seen.version
RETURNING 'job:' || q.id AS id
