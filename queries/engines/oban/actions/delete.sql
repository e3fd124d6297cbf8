-- Delete jobs that do not run.
-- Index: oban_jobs_pkey.

-- :refused
SELECT r.id, r.why
  FROM (SELECT 'job:' || j.id AS id, CASE WHEN j.state::text NOT IN ('discarded', 'cancelled', 'completed') THEN 'the job is ' || j.state || ': it has not ended' END AS why
\ir ../parts/asked.sql

-- :change
DELETE FROM :"schema".oban_jobs j USING unnest(:ids, :versions) AS seen(id, version)
 WHERE j.id = substr(seen.id, 5)::int8 AND j.xmin::text = seen.version AND j.state::text IN ('discarded', 'cancelled', 'completed')
RETURNING 'job:' || j.id AS id
