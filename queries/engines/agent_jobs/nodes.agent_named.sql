-- Agents by id, with names. The name is a field of a composite column; no other column is read, because rows are large.
-- kinds: agent
-- needs: agent_names
-- Index: one on jobs(agent_id, created_at). Unfinished jobs are counted among the newest 20 of each agent.
WITH \ir parts/agents.sql
SELECT 'agent:' || n.key AS id, NULL::text AS parent_id, NULL::text AS job_id, 'agent' AS kind,
       CASE WHEN a.id IS NULL THEN 'agent ' || n.key || ' (deleted)'
            ELSE coalesce(left(nullif(to_jsonb(a.profile) ->> 'name', ''), 80), 'agent ' || n.key) END || CASE WHEN n.open > 0 THEN ' - ' || n.open || n.more || ' unfinished' ELSE '' END AS title,
       n.phase, extract(epoch FROM last)::float8 AS changed_at, '-' AS version, extract(epoch FROM now())::float8 AS now
  FROM agents n LEFT JOIN :"schema".agents a ON a.id = n.key
