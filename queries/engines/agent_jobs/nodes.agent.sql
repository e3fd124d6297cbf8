-- Agents by id, without names: the table agents is missing or has no profile.
-- Index: one on jobs(agent_id, created_at). Unfinished jobs are counted among the newest 20 of each agent.
WITH \ir parts/agents.sql
SELECT 'agent:' || n.key AS id, NULL::text AS parent_id, NULL::text AS job_id, 'agent' AS kind,
       'agent ' || n.key || CASE WHEN n.open > 0 THEN ' - ' || n.open || n.more || ' unfinished' ELSE '' END AS title,
       n.phase, extract(epoch FROM last)::float8 AS changed_at, '-' AS version, extract(epoch FROM now())::float8 AS now
  FROM agents n
