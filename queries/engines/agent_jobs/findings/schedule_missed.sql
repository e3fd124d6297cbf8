-- Agents whose jobs were created at regular intervals and now are not. The table has no schedule: users upload files, and only
-- programs do that regularly. The period is the median of the last gaps; it counts as regular if at least eight gaps are
-- between half and one and a half of it.
-- needs: by_created
-- Index: one on jobs(created_at), the newest 2,000 jobs.
WITH gaps AS (
  SELECT n.agent_id, n.created_at, n.created_at - lag(n.created_at) OVER (PARTITION BY n.agent_id ORDER BY n.created_at, n.id) AS gap,
         row_number() OVER (PARTITION BY n.agent_id ORDER BY n.created_at DESC, n.id DESC) AS place
    FROM (SELECT id, agent_id, created_at FROM :"schema".jobs ORDER BY created_at DESC LIMIT 2000) AS n
   WHERE isfinite(n.created_at)
),
agents AS (
  SELECT g.agent_id, max(g.created_at) AS last, count(g.gap) AS gaps, min(g.gap) AS least, max(g.gap) AS most,
         percentile_disc(0.5) WITHIN GROUP (ORDER BY g.gap) AS period
    FROM gaps g
   WHERE g.place <= 12
   GROUP BY g.agent_id
)
SELECT 'agent:' || a.agent_id AS id, extract(epoch FROM a.last + a.period)::float8 AS since,
       jsonb_build_object('agent', a.agent_id::text, 'period', date_trunc('second', a.period)::text, 'last', date_trunc('second', a.last)::text,
                          'silence', date_trunc('second', now() - a.last)::text) AS evidence
  FROM agents a
 WHERE a.gaps >= 8 AND a.period >= interval '10 seconds'
   AND a.least >= 0.5 * a.period AND a.most <= 1.5 * a.period
   AND now() - a.last BETWEEN 3 * a.period + interval '1 minute' AND 50 * a.period
   AND (:ids IS NULL OR 'agent:' || a.agent_id = ANY (:ids))
 ORDER BY a.last, a.agent_id
 LIMIT :limit
