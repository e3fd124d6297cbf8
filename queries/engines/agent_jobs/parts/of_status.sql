-- Jobs of one status, in a polled table: `at` is the start of an active job, and the last change of another. At most
-- 2,000, the oldest first: those with the given ids; else all, if an index starts with status and created_at or the
-- table is small; else those of 500 users.
-- status: `delayed`, for example
-- Indexes: one on jobs(status, created_at), or that on jobs(user_id, status, created_at).
\ir users.sql
, checked AS MATERIALIZED (
  (SELECT j.* FROM :"schema".jobs j
    WHERE :ids IS NULL AND :settings ->> 'profile' = 'table' AND ARRAY['unfinished', 'jobs_scan'] && :met_needs AND j.status = :'status' ORDER BY j.created_at LIMIT 2000)
  UNION ALL
  (SELECT o.*
     FROM users u
    CROSS JOIN LATERAL (SELECT j.* FROM :"schema".jobs j WHERE j.user_id = u.user_id AND j.status = :'status' ORDER BY j.created_at LIMIT 1000) AS o
    WHERE :ids IS NULL AND :settings ->> 'profile' = 'table' AND NOT ARRAY['unfinished', 'jobs_scan'] && :met_needs
    LIMIT 2000)
  UNION ALL
  SELECT j.* FROM :"schema".jobs j
   WHERE j.id = ANY (:job_keys) AND j.status = :'status'
),
nodes AS (
  SELECT 'job:' || j.id AS id, j.job_id, j.agent_id,
         CASE j.status WHEN 'active' THEN coalesce(j.started_at, j.updated_at) ELSE greatest(j.created_at, j.updated_at) END AS at
    FROM checked j
   WHERE :settings ->> 'profile' = 'table'
),
more AS (
  SELECT :settings ->> 'profile' = 'table'
     AND ((SELECT count(*) FROM checked) = 2000 OR NOT ARRAY['unfinished', 'jobs_scan'] && :met_needs AND (SELECT count(*) FROM users) = 500) AS more
)
