-- Set finished jobs to pending and clear error, started_at and completed_at in one statement: a remaining completed_at
-- would be earlier than the started_at of the next claim, and the table's CHECK would reject that claim.
-- $1 ids text[]: local ids
-- $2 versions text[]: for each id, the version that the operator saw: status, updated_at and xmin
-- Index: jobs_pkey.

\ir ../parts/lock.sql

-- :refused
SELECT r.id, r.why
  FROM (SELECT 'job:' || j.id AS id,
               CASE WHEN j.status NOT IN ('completed', 'failed') THEN 'the job is ' || j.status || ': only a finished job can be restarted'
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
