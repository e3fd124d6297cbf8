-- Set jobs that have not started to failed, with an error that names the operator: the engine has no cancelled status.
-- greatest() keeps the order of the times if the clock that wrote created_at or started_at is ahead of the server's.
-- $1 ids text[]: local ids
-- $2 versions text[]: for each id, the version that the operator saw: status, updated_at and xmin
-- $3 operator text
-- $4 reason text
-- Index: jobs_pkey.

\ir ../parts/lock.sql

-- :refused
SELECT r.id, r.why
  FROM (SELECT 'job:' || j.id AS id,
               CASE WHEN j.status NOT IN ('pending', 'delayed', 'paused') THEN 'the job is ' || j.status || ': only a job that has not started can be cancelled'
               END AS why
          FROM :"schema".jobs j
         WHERE j.id = ANY (ARRAY(SELECT substr(i, 5)::uuid FROM unnest($1::text[]) AS i))) AS r
 WHERE r.why IS NOT NULL

\ir ../parts/rows.sql

-- :change
UPDATE :"schema".jobs j SET status = 'failed', error = 'cancelled by operator ' || $3::text || ': ' || $4::text,
       completed_at = greatest(clock_timestamp(), j.created_at, j.started_at), updated_at = clock_timestamp()
  FROM unnest($1::text[], $2::text[]) AS seen(id, version)
 WHERE j.id = substr(seen.id, 5)::uuid
   AND j.status IN ('pending', 'delayed', 'paused')
   AND j.status || '|' || j.updated_at || ':' || j.xmin = seen.version
RETURNING 'job:' || j.id AS id
