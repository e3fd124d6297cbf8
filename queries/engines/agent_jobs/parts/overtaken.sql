-- Overdue pending jobs of a mirror that a newer job of the same agent has overtaken. With table as the profile such a
-- job was skipped by the executors: see late.
-- needs: by_user, by_agent
-- Indexes: those of the included part, one on jobs(agent_id, created_at).
\ir users.sql
, \ir late.sql
, \ir judged.sql
,
more AS (SELECT (SELECT count(*) FROM late) = 2000 OR NOT ARRAY['unfinished', 'jobs_scan'] && :met_needs AND (SELECT count(*) FROM users) = 500 AS more),
nodes AS (
  SELECT 'job:' || j.id AS id, j.job_id, j.created_at, j.overtaker
    FROM judged j WHERE j.overtaker IS NOT NULL AND :settings ->> 'profile' = 'mirror'
)
