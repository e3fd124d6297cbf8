-- Delete an unlocked job. Locked rows are neither changed nor locked with FOR UPDATE: deleting one would not stop the
-- worker, but would abort the worker's SERIALIZABLE transaction, so that the job's work is repeated.
-- $1 ids text[]: local ids
-- $2 versions text[]: version of each node that the operator saw: lock_instance, lock_time, xmin
-- Index: queued_job_pkey.

-- :lock
SELECT 'job:' || q.id AS id, coalesce(q.lock_instance::text, '-') || '@' || coalesce(q.lock_time::text, '-') || ':' || q.xmin AS version,
\ir ../parts/same.sql
       AS unchanged
  FROM :"schema".queued_job q
 CROSS JOIN LATERAL (SELECT ($2::text[])[array_position($1::text[], 'job:' || q.id)] AS version) AS seen
 WHERE q.id = ANY (ARRAY(SELECT substr(i, 5)::int8 FROM unnest($1::text[]) AS i))
   AND (q.lock_instance IS NOT NULL OR q.lock_time IS NOT NULL)

-- :lock
SELECT 'job:' || q.id AS id, coalesce(q.lock_instance::text, '-') || '@' || coalesce(q.lock_time::text, '-') || ':' || q.xmin AS version,
\ir ../parts/same.sql
       AS unchanged
  FROM :"schema".queued_job q
 CROSS JOIN LATERAL (SELECT ($2::text[])[array_position($1::text[], 'job:' || q.id)] AS version) AS seen
 WHERE q.id = ANY (ARRAY(SELECT substr(i, 5)::int8 FROM unnest($1::text[]) AS i))
   AND q.lock_instance IS NULL AND q.lock_time IS NULL
 ORDER BY q.id
   FOR UPDATE OF q SKIP LOCKED

-- :refused
SELECT 'job:' || q.id AS id,
       'it is locked by ' || coalesce('instance ' || q.lock_instance, 'an unknown instance') || '. Deleting the row would not stop the worker. If that instance is gone, release the lock first' AS why
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
