-- Everything unfinished, oldest first.
-- needs: by_user, unfinished
-- $1 cursor text: created_at|id of the last row of the page before, or NULL
-- $2 page int: how many at most
-- Index: one on jobs(status, created_at) of the unfinished; each status by itself, merged.
SELECT 'job:' || m.id AS id, m.created_at || '|' || m.id AS cursor
  FROM (SELECT coalesce(split_part($1::text, '|', 1)::timestamptz, '-infinity') AS at,
               coalesce(split_part($1::text, '|', 2)::uuid, '00000000-0000-0000-0000-000000000000') AS id) AS c
 CROSS JOIN LATERAL (
        (SELECT j.id, j.created_at FROM jobs j
          WHERE j.status = 'pending' AND j.created_at >= c.at AND (j.created_at, j.id) > (c.at, c.id)
          ORDER BY j.created_at, j.id LIMIT $2::int)
         UNION ALL
        (SELECT j.id, j.created_at FROM jobs j
          WHERE j.status = 'active' AND j.created_at >= c.at AND (j.created_at, j.id) > (c.at, c.id)
          ORDER BY j.created_at, j.id LIMIT $2::int)
         UNION ALL
        (SELECT j.id, j.created_at FROM jobs j
          WHERE j.status = 'delayed' AND j.created_at >= c.at AND (j.created_at, j.id) > (c.at, c.id)
          ORDER BY j.created_at, j.id LIMIT $2::int)
         UNION ALL
        (SELECT j.id, j.created_at FROM jobs j
          WHERE j.status = 'paused' AND j.created_at >= c.at AND (j.created_at, j.id) > (c.at, c.id)
          ORDER BY j.created_at, j.id LIMIT $2::int)) AS m
 ORDER BY m.created_at, m.id
 LIMIT $2::int
