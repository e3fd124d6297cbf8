-- Agents or users in the order of their ids. The order is stable for paging and unrelated to time.
-- needs: by_agent, by_user
-- A loose index scan. No ORDER BY at the end, because it would scan all keys first.
WITH RECURSIVE agents_ AS (
  (SELECT j.agent_id AS key FROM :"schema".jobs j
    WHERE :settings ->> 'group' IS DISTINCT FROM 'user' AND (:cursor IS NULL OR j.agent_id > :cursor::text::uuid)
    ORDER BY j.agent_id LIMIT 1)
  UNION ALL
  SELECT (SELECT j.agent_id FROM :"schema".jobs j WHERE j.agent_id > p.key ORDER BY j.agent_id LIMIT 1) FROM agents_ p WHERE p.key IS NOT NULL
), users_ AS (
  (SELECT j.user_id AS key FROM :"schema".jobs j
    WHERE :settings ->> 'group' = 'user' AND (:cursor IS NULL OR j.user_id > :cursor::text::uuid)
    ORDER BY j.user_id LIMIT 1)
  UNION ALL
  SELECT (SELECT j.user_id FROM :"schema".jobs j WHERE j.user_id > p.key ORDER BY j.user_id LIMIT 1) FROM users_ p WHERE p.key IS NOT NULL
)
SELECT k.kind || ':' || k.key AS id, k.key::text AS cursor
  FROM (SELECT 'agent' AS kind, a.key FROM agents_ a UNION ALL SELECT 'user', u.key FROM users_ u) AS k
 WHERE k.key IS NOT NULL
 LIMIT :limit
