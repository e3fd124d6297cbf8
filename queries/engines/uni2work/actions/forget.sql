-- Delete the record of a last execution, so that cron treats the job as never executed. Refuse while a worker executes
-- equal content, because that worker would record it again.
-- $1 ids text[]: local ids
-- $2 versions text[]: version of each node that the operator saw: time, xmin
-- $3 settings jsonb
-- Indexes: cron_last_exec_pkey; the start of queued_job_pkey.

-- :lock
-- Also lock the queued rows of equal content, so that no worker takes one now and later writes the deleted record.
-- If another transaction holds one of them, the entry is locked.
WITH wanted AS MATERIALIZED (
  SELECT c.id, c.job, c."time" || ':' || c.xmin AS version
    FROM :"schema".cron_last_exec c
   WHERE c.id = ANY (ARRAY(SELECT substr(i, 6)::int8 FROM unnest($1::text[]) AS i))
   ORDER BY c.id
     FOR UPDATE SKIP LOCKED
), equal AS MATERIALIZED (
  SELECT o.id, w.id AS wanted
    FROM (SELECT * FROM :"schema".queued_job ORDER BY id LIMIT ($3::jsonb ->> 'window')::float8::int) AS o JOIN wanted w ON w.job = o.content
   WHERE o.lock_instance IS NULL AND o.lock_time IS NULL
), held AS MATERIALIZED (
  SELECT q.id
    FROM :"schema".queued_job q
   WHERE q.id = ANY (ARRAY(SELECT e.id FROM equal e))
   ORDER BY q.id
     FOR UPDATE SKIP LOCKED
)
SELECT 'cron:' || w.id AS id, w.version
  FROM wanted w
 WHERE NOT EXISTS (SELECT FROM equal e WHERE e.wanted = w.id AND e.id NOT IN (SELECT h.id FROM held h))

-- :refused
WITH locked AS MATERIALIZED (
  SELECT w.id, w.content
    FROM (SELECT o.id, o.content, o.lock_instance, o.lock_time FROM :"schema".queued_job o ORDER BY o.id LIMIT ($3::jsonb ->> 'window')::float8::int) AS w
   WHERE w.lock_instance IS NOT NULL OR w.lock_time IS NOT NULL
)
SELECT 'cron:' || c.id AS id, 'job ' || min(b.id) || ' has the same content and is locked. A worker may be running it and would record it again' AS why
  FROM :"schema".cron_last_exec c JOIN locked b ON b.content = c.job
 WHERE c.id = ANY (ARRAY(SELECT substr(i, 6)::int8 FROM unnest($1::text[]) AS i))
 GROUP BY c.id

-- :rows
SELECT 'cron:' || c.id AS id, 'cron_last_exec' AS "table", c.id::text AS key,
       to_jsonb(c) - 'job' || jsonb_build_object('job', c.job::text) AS row
  FROM :"schema".cron_last_exec c
 WHERE c.id = ANY (ARRAY(SELECT substr(i, 6)::int8 FROM unnest($1::text[]) AS i))

-- :change
DELETE FROM :"schema".cron_last_exec c
 USING unnest($1::text[], $2::text[]) AS seen(id, version)
 WHERE c.id = substr(seen.id, 6)::int8
   AND c."time" || ':' || c.xmin = seen.version
RETURNING 'cron:' || c.id AS id
