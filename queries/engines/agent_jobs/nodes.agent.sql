-- Agents by id, without names: the table agents is missing or has no profile.
-- Index: one on jobs(agent_id, created_at). Unfinished jobs are counted among the newest 20 of each agent.
SELECT 'agent:' || w.key AS id, NULL::text AS parent_id, NULL::text AS job_id, 'agent' AS kind,
       'agent ' || w.key || CASE WHEN n.open > 0 THEN ' - ' || n.open || n.more || ' unfinished' ELSE '' END AS title,
\ir parts/agents.sql
 WHERE n.last IS NOT NULL
