-- Jobs of an agent that does not exist any more: the foreign key that would have taken them along is missing.
-- needs: by_agent, agent_names
-- $1 ids text[]: only for these local ids, or NULL
-- $2 page int: how many at most
WITH RECURSIVE keys AS (
  (SELECT j.agent_id AS key FROM jobs j ORDER BY j.agent_id LIMIT 1)
  UNION ALL
  SELECT (SELECT j.agent_id FROM jobs j WHERE j.agent_id > k.key ORDER BY j.agent_id LIMIT 1) FROM keys k WHERE k.key IS NOT NULL
)
SELECT 'agent:' || k.key AS id,
       (SELECT extract(epoch FROM max(j.created_at))::float8 FROM jobs j WHERE j.agent_id = k.key) AS since,
       jsonb_build_object('agent_id', k.key::text) AS evidence
  FROM keys k
 WHERE k.key IS NOT NULL
   AND NOT EXISTS (SELECT FROM agents a WHERE a.id = k.key)
   AND ($1::text[] IS NULL OR 'agent:' || k.key = ANY ($1::text[]))
 ORDER BY k.key
 LIMIT $2::int
