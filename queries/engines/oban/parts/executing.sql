-- Executing jobs, at most 2,000 without ids.
\ir executing_jobs.sql
, nodes AS (SELECT 'job:' || j.id AS id, j.attempted_at, j.attempted_by FROM executing j),
more AS (SELECT (SELECT count(*) FROM executing) > 2000 AS more)
