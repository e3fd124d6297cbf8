-- Agents that have jobs but no row: the foreign key that deletes the jobs with the agent is missing. The given agents
-- are checked, or the first 1,000 by id. With a valid foreign key no agent is checked.
-- needs: by_agent, agent_names
-- Indexes: one on jobs(agent_id, created_at), agents_pkey.
WITH RECURSIVE leaps AS (
  (SELECT j.agent_id AS key FROM :"schema".jobs j
    WHERE :ids IS NULL
      AND NOT EXISTS (SELECT FROM pg_constraint k
                       WHERE k.conrelid = format('%I.jobs', :'schema')::regclass AND k.confrelid = format('%I.agents', :'schema')::regclass AND k.contype = 'f' AND k.convalidated)
    ORDER BY j.agent_id LIMIT 1)
  UNION ALL
  SELECT (SELECT j.agent_id FROM :"schema".jobs j WHERE j.agent_id > l.key ORDER BY j.agent_id LIMIT 1) FROM leaps l WHERE l.key IS NOT NULL
),
keys AS MATERIALIZED (
  (SELECT l.key FROM leaps l WHERE l.key IS NOT NULL LIMIT 1000)
  UNION ALL
  SELECT substr(i, 7)::uuid FROM unnest(:ids) AS i WHERE i LIKE 'agent:%'
)
(SELECT 'agent:' || k.key AS id, extract(epoch FROM n.last)::float8 AS since, jsonb_build_object('agent_id', k.key::text) AS evidence
   FROM keys k
  CROSS JOIN LATERAL (SELECT j.created_at AS last FROM :"schema".jobs j WHERE j.agent_id = k.key ORDER BY j.created_at DESC LIMIT 1) AS n
  WHERE (SELECT a.id FROM :"schema".agents a WHERE a.id = k.key LIMIT 1) IS NULL
  ORDER BY k.key
  LIMIT :limit)
UNION ALL
SELECT NULL, NULL, NULL WHERE :ids IS NULL AND (SELECT count(*) FROM keys) = 1000
