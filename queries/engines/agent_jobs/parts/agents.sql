-- The agents of the given ids that have jobs: phase, time of the last job, and number of unfinished ones, with a + in
-- `more` if there may be others.
agents AS (
  SELECT w.key, n.last, n.open, n.more,
         CASE WHEN n.active THEN 'running' WHEN n.pending THEN 'ready' WHEN n.delayed THEN 'scheduled' WHEN n.paused THEN 'held'
              WHEN n.failed THEN 'failed' ELSE 'done' END AS phase
    FROM (SELECT i AS id, substr(i, 7)::uuid AS key FROM unnest(:ids) AS i
           WHERE i ~* '^agent:[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$') AS w
   CROSS JOIN LATERAL (
         SELECT max(j.created_at) AS last, count(*) FILTER (WHERE j.status NOT IN ('completed', 'failed')) AS open,
                CASE WHEN count(*) = 20 THEN '+' ELSE '' END AS more,
                bool_or(j.status = 'active') AS active, bool_or(j.status = 'pending') AS pending,
                bool_or(j.status = 'delayed') AS delayed, bool_or(j.status = 'paused') AS paused,
                (array_agg(j.status ORDER BY j.created_at DESC, j.id DESC))[1] = 'failed' AS failed
           FROM (SELECT r.id, r.status, r.created_at FROM :"schema".jobs r WHERE r.agent_id = w.key ORDER BY r.created_at DESC LIMIT 20) AS j) AS n
   WHERE n.last IS NOT NULL
)
