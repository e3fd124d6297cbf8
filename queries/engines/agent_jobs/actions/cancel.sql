-- A job that has not begun becomes failed, with an error that says so: there is no status for cancelled. The times keep
-- their order even where the clock of whoever wrote the others is ahead of the server's.
-- $1 ids text[]: local ids
-- $2 versions text[]: what the operator saw of each: status, time of the last change, and who wrote the row
-- $3 operator text
-- $4 reason text
-- Index: jobs_pkey.

\ir ../parts/lock.sql

-- :refused
SELECT r.id, r.why
  FROM (SELECT 'job:' || j.id AS id,
               CASE WHEN j.status NOT IN ('pending', 'delayed', 'paused') THEN 'it is ' || j.status || ', not waiting: ' || CASE j.status WHEN 'active' THEN 'the executor is at it' ELSE 'it has ended' END
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
