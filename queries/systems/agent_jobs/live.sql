-- Everything unfinished, oldest first.
-- needs: by_user
-- $1 cursor text: created_at|id of the last row of the page before, or NULL
-- $2 page int: how many at most
-- Each user's oldest rows of each status, by the index, merged. Statuses are literals so that a partial index can serve.
WITH RECURSIVE users AS (
  -- Every user once, by leaps through the index.
  (SELECT j.user_id FROM jobs j ORDER BY j.user_id LIMIT 1)
  UNION ALL
  SELECT (SELECT j.user_id FROM jobs j WHERE j.user_id > u.user_id ORDER BY j.user_id LIMIT 1)
    FROM users u WHERE u.user_id IS NOT NULL
)
SELECT 'job:' || m.id AS id, m.created_at || '|' || m.id AS cursor
  FROM (SELECT coalesce(split_part($1::text, '|', 1)::timestamptz, '-infinity') AS at,
               coalesce(split_part($1::text, '|', 2)::uuid, '00000000-0000-0000-0000-000000000000') AS id) AS c
 CROSS JOIN users u
 CROSS JOIN LATERAL (
        (SELECT j.id, j.created_at FROM jobs j
          WHERE j.user_id = u.user_id AND j.status = 'pending' AND j.created_at >= c.at AND (j.created_at, j.id) > (c.at, c.id)
          ORDER BY j.created_at, j.id LIMIT $2::int)
         UNION ALL
         (SELECT j.id, j.created_at FROM jobs j
          WHERE j.user_id = u.user_id AND j.status = 'active' AND j.created_at >= c.at AND (j.created_at, j.id) > (c.at, c.id)
          ORDER BY j.created_at, j.id LIMIT $2::int)
         UNION ALL
         (SELECT j.id, j.created_at FROM jobs j
          WHERE j.user_id = u.user_id AND j.status = 'delayed' AND j.created_at >= c.at AND (j.created_at, j.id) > (c.at, c.id)
          ORDER BY j.created_at, j.id LIMIT $2::int)
         UNION ALL
         (SELECT j.id, j.created_at FROM jobs j
          WHERE j.user_id = u.user_id AND j.status = 'paused' AND j.created_at >= c.at AND (j.created_at, j.id) > (c.at, c.id)
          ORDER BY j.created_at, j.id LIMIT $2::int)) AS m
 ORDER BY m.created_at, m.id
 LIMIT $2::int
