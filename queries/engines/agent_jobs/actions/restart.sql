-- A finished job becomes pending as if new, with error and both times gone, in one statement: a completed_at left behind
-- would lie before the started_at of the next claim, and the table's own CHECK would make that claim fail.
-- $1 ids text[]: local ids
-- $2 versions text[]: what the operator saw of each: status, time of the last change, and who wrote the row
-- Index: jobs_pkey.

\ir ../parts/lock.sql

-- :refused
SELECT r.id, r.why
  FROM (SELECT 'job:' || j.id AS id,
               CASE WHEN j.status NOT IN ('completed', 'failed') THEN 'it is ' || j.status || ': it has not ended yet'
               END AS why
          FROM :"schema".jobs j
         WHERE j.id = ANY (ARRAY(SELECT substr(i, 5)::uuid FROM unnest($1::text[]) AS i))) AS r
 WHERE r.why IS NOT NULL

\ir ../parts/rows.sql

-- :change
UPDATE :"schema".jobs j SET status = 'pending', error = NULL, started_at = NULL, completed_at = NULL, updated_at = clock_timestamp()
  FROM unnest($1::text[], $2::text[]) AS seen(id, version)
 WHERE j.id = substr(seen.id, 5)::uuid
   AND j.status IN ('completed', 'failed')
   AND j.status || '|' || j.updated_at || ':' || j.xmin = seen.version
RETURNING 'job:' || j.id AS id
