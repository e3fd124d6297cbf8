-- Agents by id, without names: the table agents is missing or has no profile.
-- kinds: agent
-- $1 ids text[]: local ids, agent:uuid
-- Index: one on jobs(agent_id, created_at). Unfinished jobs are counted among the newest 20 of each agent.
SELECT 'agent:' || w.key AS id, NULL::text AS parent_id, NULL::text AS job_id, 'agent' AS kind,
       'agent ' || w.key || CASE WHEN n.open > 0 THEN ' · ' || n.open || ' unfinished' ELSE '' END AS title, NULL::text AS status,
       CASE WHEN n.active THEN 'running' WHEN n.pending THEN 'ready' WHEN n.delayed THEN 'scheduled' WHEN n.paused THEN 'held'
            WHEN n.failed THEN 'failed' ELSE 'done' END AS phase,
       NULL::int8 AS revision, NULL::float8 AS cpu, NULL::float8 AS poll, NULL::float8 AS created_at,
       extract(epoch FROM n.last)::float8 AS changed_at, NULL::float8 AS due_at, NULL::text AS owner,
       NULL::float8 AS heartbeat_at, NULL::int8 AS attempts, NULL::int8 AS max_attempts, NULL::text AS error, '-' AS version,
       extract(epoch FROM now())::float8 AS now
  FROM (SELECT i AS id, substr(i, 7)::uuid AS key FROM unnest($1::text[]) AS i
         WHERE i ~* '^agent:[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$') AS w
 CROSS JOIN LATERAL (
       SELECT max(j.created_at) AS last, count(*) FILTER (WHERE j.status NOT IN ('completed', 'failed')) AS open,
              bool_or(j.status = 'active') AS active, bool_or(j.status = 'pending') AS pending,
              bool_or(j.status = 'delayed') AS delayed, bool_or(j.status = 'paused') AS paused,
              (array_agg(j.status ORDER BY j.created_at DESC, j.id DESC))[1] = 'failed' AS failed
         FROM (SELECT r.id, r.status, r.created_at FROM :"schema".jobs r WHERE r.agent_id = w.key ORDER BY r.created_at DESC LIMIT 20) AS j) AS n
 WHERE n.last IS NOT NULL
