-- Active jobs, and the usual run time of the last jobs of agents with a job beyond the threshold. Only an executor that
-- polls this table sets jobs to active.
-- needs: by_user, by_agent
-- Indexes: those of the included part; one on jobs(agent_id, created_at), the newest 50 jobs of at most 100 agents.
wanted AS NOT MATERIALIZED (SELECT 'active' AS status)
, \ir users.sql
, \ir of_status.sql
,
more AS (SELECT :settings ->> 'profile' = 'table' AND ((SELECT count(*) FROM nodes) = 2000
     OR NOT ARRAY['unfinished', 'jobs_scan'] && :met_needs AND (SELECT count(*) FROM users) = 500) AS more),
usual AS MATERIALIZED (
  SELECT a.agent_id, r.long
    FROM (SELECT t.agent_id FROM nodes t WHERE t.at < now() - :active_too_long GROUP BY t.agent_id ORDER BY min(t.at), t.agent_id LIMIT 100) AS a
   CROSS JOIN LATERAL (SELECT percentile_disc(0.9) WITHIN GROUP (ORDER BY n.completed_at - n.started_at) AS long
                         FROM (SELECT j.status, j.started_at, j.completed_at FROM :"schema".jobs j WHERE j.agent_id = a.agent_id ORDER BY j.created_at DESC LIMIT 50) AS n
                        WHERE n.status = 'completed' AND isfinite(n.started_at) AND isfinite(n.completed_at)
                       HAVING count(*) >= 5) AS r
)
