-- The usual run time of the last jobs of agents with a job in `held` (held.sql) beyond the threshold, at most 100 agents.
-- Index: one on jobs(agent_id, created_at), the newest 50 jobs of each.
usual_times AS MATERIALIZED (
  SELECT a.agent_id, r.long
    FROM (SELECT h.agent_id FROM held h WHERE coalesce(h.started_at, h.updated_at) < now() - :active_too_long
           GROUP BY h.agent_id ORDER BY min(coalesce(h.started_at, h.updated_at)), h.agent_id LIMIT 100) AS a
   CROSS JOIN LATERAL (SELECT percentile_disc(0.9) WITHIN GROUP (ORDER BY n.completed_at - n.started_at) AS long
                         FROM (SELECT j.status, j.started_at, j.completed_at FROM :"schema".jobs j WHERE j.agent_id = a.agent_id ORDER BY j.created_at DESC LIMIT 50) AS n
                        WHERE n.status = 'completed' AND isfinite(n.started_at) AND isfinite(n.completed_at)
                       HAVING count(*) >= 5) AS r
)
