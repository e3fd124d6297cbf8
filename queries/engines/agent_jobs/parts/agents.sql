-- Columns of the agents `w` after the title, and their jobs `n`.
       CASE WHEN n.active THEN 'running' WHEN n.pending THEN 'ready' WHEN n.delayed THEN 'scheduled' WHEN n.paused THEN 'held'
            WHEN n.failed THEN 'failed' ELSE 'done' END AS phase,
       extract(epoch FROM n.last)::float8 AS changed_at, '-' AS version, extract(epoch FROM now())::float8 AS now
  FROM (SELECT i AS id, substr(i, 7)::uuid AS key FROM unnest(:ids) AS i
         WHERE i ~* '^agent:[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$') AS w
 CROSS JOIN LATERAL (
       SELECT max(j.created_at) AS last, count(*) FILTER (WHERE j.status NOT IN ('completed', 'failed')) AS open,
              CASE WHEN count(*) = 20 THEN '+' ELSE '' END AS more,
              bool_or(j.status = 'active') AS active, bool_or(j.status = 'pending') AS pending,
              bool_or(j.status = 'delayed') AS delayed, bool_or(j.status = 'paused') AS paused,
              (array_agg(j.status ORDER BY j.created_at DESC, j.id DESC))[1] = 'failed' AS failed
         FROM (SELECT r.id, r.status, r.created_at FROM :"schema".jobs r WHERE r.agent_id = w.key ORDER BY r.created_at DESC LIMIT 20) AS j) AS n
