-- The first 500 users in the order of their ids, each once, by leaps through the index.
leaps AS (
  (SELECT j.user_id FROM jobs j ORDER BY j.user_id LIMIT 1)
  UNION ALL
  SELECT (SELECT j.user_id FROM jobs j WHERE j.user_id > l.user_id ORDER BY j.user_id LIMIT 1)
    FROM leaps l WHERE l.user_id IS NOT NULL
),
users AS MATERIALIZED (SELECT l.user_id FROM leaps l WHERE l.user_id IS NOT NULL LIMIT 500)
