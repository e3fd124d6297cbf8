-- Delete the rows of finished jobs.
-- $1 ids text[]: local ids
-- $2 versions text[]: for each id, the version that the operator saw: status, updated_at and xmin
-- Index: jobs_pkey.

-- :lock
SELECT 'job:' || j.id AS id, j.status || '|' || j.updated_at || ':' || j.xmin AS version
  FROM :"schema".jobs j
 WHERE j.id = ANY (ARRAY(SELECT substr(i, 5)::uuid FROM unnest($1::text[]) AS i))
 ORDER BY j.id
   FOR UPDATE SKIP LOCKED

-- :refused
SELECT r.id, r.why
  FROM (SELECT 'job:' || j.id AS id,
               CASE WHEN j.status NOT IN ('completed', 'failed') THEN 'the job is ' || j.status || ': only the row of a finished job can be deleted'
               END AS why
          FROM :"schema".jobs j
         WHERE j.id = ANY (ARRAY(SELECT substr(i, 5)::uuid FROM unnest($1::text[]) AS i))) AS r
 WHERE r.why IS NOT NULL

\ir ../parts/rows.sql

-- :change
DELETE FROM :"schema".jobs j
 USING unnest($1::text[], $2::text[]) AS seen(id, version)
 WHERE j.id = substr(seen.id, 5)::uuid
   AND j.status IN ('completed', 'failed')
   AND j.status || '|' || j.updated_at || ':' || j.xmin = seen.version
RETURNING 'job:' || j.id AS id
