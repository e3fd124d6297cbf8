-- Everything unfinished of 500 users, oldest first. A row without an id: there may be others.
-- needs: by_user
-- $1 cursor text: created_at|id of the last row of the page before, or NULL
-- $2 limits jsonb: group: whether trees are by agent or by user
-- $3 page int: how many at most
-- Index: one on jobs(user_id, status, created_at). A page comes from as many users and statuses at most as it has rows:
-- those whose oldest rows are the oldest. Statuses are literals so that a partial index can serve.
WITH RECURSIVE
\ir parts/users.sql
, c AS MATERIALIZED (
  SELECT coalesce(split_part($1::text, '|', 1)::timestamptz, '-infinity') AS at,
         coalesce(split_part($1::text, '|', 2)::uuid, '00000000-0000-0000-0000-000000000000') AS id
),
heads AS MATERIALIZED (
  SELECT u.user_id, h.status
    FROM c
   CROSS JOIN users u
   CROSS JOIN LATERAL (
          (SELECT 'pending' AS status, j.created_at FROM jobs j
            WHERE u.last = 'pending' AND j.user_id = u.user_id AND j.status = 'pending' AND j.created_at >= c.at AND (j.created_at, j.id) > (c.at, c.id)
            ORDER BY j.created_at LIMIT 1)
           UNION ALL
          (SELECT 'active', j.created_at FROM jobs j
            WHERE j.user_id = u.user_id AND j.status = 'active' AND j.created_at >= c.at AND (j.created_at, j.id) > (c.at, c.id)
            ORDER BY j.created_at LIMIT 1)
           UNION ALL
          (SELECT 'delayed', j.created_at FROM jobs j
            WHERE u.last >= 'delayed' AND j.user_id = u.user_id AND j.status = 'delayed' AND j.created_at >= c.at AND (j.created_at, j.id) > (c.at, c.id)
            ORDER BY j.created_at LIMIT 1)
           UNION ALL
          (SELECT 'paused', j.created_at FROM jobs j
            WHERE u.last >= 'paused' AND j.user_id = u.user_id AND j.status = 'paused' AND j.created_at >= c.at AND (j.created_at, j.id) > (c.at, c.id)
            ORDER BY j.created_at LIMIT 1)) AS h
   ORDER BY h.created_at
   FETCH FIRST ($3::int) ROWS WITH TIES
)
(SELECT 'job:' || j.id AS id, j.created_at || '|' || j.id AS cursor, to_jsonb(n) AS node
  FROM c
 CROSS JOIN heads h
 CROSS JOIN LATERAL (
        (SELECT j.*, j.xmin, j.ctid FROM jobs j
          WHERE h.status = 'pending' AND j.user_id = h.user_id AND j.status = 'pending' AND j.created_at >= c.at AND (j.created_at, j.id) > (c.at, c.id)
          ORDER BY j.created_at, j.id LIMIT $3::int)
         UNION ALL
        (SELECT j.*, j.xmin, j.ctid FROM jobs j
          WHERE h.status = 'active' AND j.user_id = h.user_id AND j.status = 'active' AND j.created_at >= c.at AND (j.created_at, j.id) > (c.at, c.id)
          ORDER BY j.created_at, j.id LIMIT $3::int)
         UNION ALL
        (SELECT j.*, j.xmin, j.ctid FROM jobs j
          WHERE h.status = 'delayed' AND j.user_id = h.user_id AND j.status = 'delayed' AND j.created_at >= c.at AND (j.created_at, j.id) > (c.at, c.id)
          ORDER BY j.created_at, j.id LIMIT $3::int)
         UNION ALL
        (SELECT j.*, j.xmin, j.ctid FROM jobs j
          WHERE h.status = 'paused' AND j.user_id = h.user_id AND j.status = 'paused' AND j.created_at >= c.at AND (j.created_at, j.id) > (c.at, c.id)
          ORDER BY j.created_at, j.id LIMIT $3::int)) AS j
 CROSS JOIN LATERAL (SELECT
\ir parts/job.sql
       ) AS n
 ORDER BY j.created_at, j.id
 LIMIT $3::int)
UNION ALL
SELECT NULL, '500 users', NULL
 WHERE (SELECT count(*) FROM users) = 500
