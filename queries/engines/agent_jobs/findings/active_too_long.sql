-- Jobs that are active for too long: beyond the threshold, and beyond three times the usual run time of their agent's last
-- jobs. Only an executor that polls this table sets jobs to active.
-- needs: by_user, by_agent
-- Indexes: those of the included part; one on jobs(agent_id, created_at), the newest 50 jobs of at most 100 agents.
\set status active
\ir ../parts/of_status.sql
, beyond AS MATERIALIZED (
  SELECT a.*
    FROM (SELECT j.id, j.job_id, j.agent_id, coalesce(j.started_at, j.updated_at) AS since FROM checked j WHERE :settings ->> 'profile' = 'table') AS a
   WHERE a.since < now() - :active_too_long
),
usual AS MATERIALIZED (
  SELECT a.agent_id, r.long
    FROM (SELECT b.agent_id FROM beyond b GROUP BY b.agent_id ORDER BY min(b.since), b.agent_id LIMIT 100) AS a
   CROSS JOIN LATERAL (SELECT percentile_disc(0.9) WITHIN GROUP (ORDER BY n.completed_at - n.started_at) AS long
                         FROM (SELECT j.status, j.started_at, j.completed_at FROM :"schema".jobs j WHERE j.agent_id = a.agent_id ORDER BY j.created_at DESC LIMIT 50) AS n
                        WHERE n.status = 'completed' AND isfinite(n.started_at) AND isfinite(n.completed_at)
                       HAVING count(*) >= 5) AS r
)
(SELECT 'job:' || a.id AS id, extract(epoch FROM a.since)::float8 AS since,
        jsonb_build_object('job_id', a.job_id, 'started_at', date_trunc('second', a.since)::text,
                           'age', CASE WHEN isfinite(a.since) THEN date_trunc('second', now() - a.since)::text ELSE 'infinite time' END) AS evidence
   FROM beyond a LEFT JOIN usual u ON u.agent_id = a.agent_id
  WHERE NOT isfinite(a.since) OR u.long IS NULL OR now() - a.since > 3 * u.long
  ORDER BY a.since, a.id
  LIMIT :limit)
\ir ../parts/of_status_more.sql
