-- Agents whose jobs were created at regular intervals and now are not. The table has no schedule: users upload files,
-- and only programs do that regularly. The period is the median of the last gaps; it counts as regular if at least
-- eight gaps are between half and one and a half of it.
-- needs: by_created
-- Index: one on jobs(created_at), the newest 2,000 jobs.
gaps AS (
  SELECT n.agent_id, n.created_at, n.created_at - lag(n.created_at) OVER (PARTITION BY n.agent_id ORDER BY n.created_at, n.id) AS gap,
         row_number() OVER (PARTITION BY n.agent_id ORDER BY n.created_at DESC, n.id DESC) AS place
    FROM (SELECT id, agent_id, created_at FROM :"schema".jobs ORDER BY created_at DESC LIMIT 2000) AS n
   WHERE isfinite(n.created_at)
),
nodes AS (
  SELECT 'agent:' || g.agent_id AS id, g.agent_id, max(g.created_at) AS last, count(g.gap) AS gaps, min(g.gap) AS least, max(g.gap) AS most,
         percentile_disc(0.5) WITHIN GROUP (ORDER BY g.gap) AS period
    FROM gaps g
   WHERE g.place <= 12
   GROUP BY g.agent_id
)
