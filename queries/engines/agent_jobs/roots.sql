-- Agents or users in the order of their ids. The order is stable for paging and unrelated to time.
-- needs: by_agent, by_user
-- $1 cursor text: last id of the previous page, or NULL
-- $2 page int: maximum number of rows
-- $3 settings jsonb: group: agent or user
-- A loose index scan. No ORDER BY at the end, because it would scan all keys first.
WITH RECURSIVE agents_ AS (
  (SELECT j.agent_id AS key FROM :"schema".jobs j
    WHERE $3::jsonb ->> 'group' IS DISTINCT FROM 'user' AND ($1::text IS NULL OR j.agent_id > $1::text::uuid)
    ORDER BY j.agent_id LIMIT 1)
  UNION ALL
  SELECT (SELECT j.agent_id FROM :"schema".jobs j WHERE j.agent_id > p.key ORDER BY j.agent_id LIMIT 1) FROM agents_ p WHERE p.key IS NOT NULL
), users_ AS (
  (SELECT j.user_id AS key FROM :"schema".jobs j
    WHERE $3::jsonb ->> 'group' = 'user' AND ($1::text IS NULL OR j.user_id > $1::text::uuid)
    ORDER BY j.user_id LIMIT 1)
  UNION ALL
  SELECT (SELECT j.user_id FROM :"schema".jobs j WHERE j.user_id > p.key ORDER BY j.user_id LIMIT 1) FROM users_ p WHERE p.key IS NOT NULL
)
SELECT k.kind || ':' || k.key AS id, k.key::text AS cursor
  FROM (SELECT 'agent' AS kind, a.key FROM agents_ a UNION ALL SELECT 'user', u.key FROM users_ u) AS k
 WHERE k.key IS NOT NULL
 LIMIT $2::int
