-- Unfinished jobs of 500 users, oldest first. A row without an id means that there may be more.
-- needs: by_user
-- cursor: created_at|id of the last row of the previous page, or NULL
-- Index: one on jobs(user_id, status, created_at). A page reads at most as many users and statuses as it has rows: those
-- with the oldest rows.
WITH \ir parts/users.sql
, c AS MATERIALIZED (
  SELECT coalesce(split_part(:cursor, '|', 1)::timestamptz, '-infinity') AS at,
         coalesce(split_part(:cursor, '|', 2)::uuid, '00000000-0000-0000-0000-000000000000') AS id
),
heads AS MATERIALIZED (
  SELECT u.user_id, s.status
    FROM c
   CROSS JOIN users u
   CROSS JOIN (VALUES ('active'), ('delayed'), ('paused'), ('pending')) AS s(status)
   CROSS JOIN LATERAL (SELECT j.created_at FROM :"schema".jobs j
                        WHERE u.last >= s.status AND j.user_id = u.user_id AND j.status = s.status
                          AND j.created_at >= c.at AND (j.created_at, j.id) > (c.at, c.id)
                        ORDER BY j.created_at LIMIT 1) AS h
   ORDER BY h.created_at
   FETCH FIRST (:limit) ROWS WITH TIES
),
page AS (
  SELECT j.*
    FROM c
   CROSS JOIN heads h
   CROSS JOIN LATERAL (SELECT j.*, j.xmin, j.ctid FROM :"schema".jobs j
                        WHERE j.user_id = h.user_id AND j.status = h.status AND j.created_at >= c.at AND (j.created_at, j.id) > (c.at, c.id)
                        ORDER BY j.created_at, j.id LIMIT :limit) AS j
   ORDER BY j.created_at, j.id
   LIMIT :limit
),
\ir parts/page_nodes.sql
(SELECT 'job:' || n.id AS id, n.cursor, n.node FROM page_nodes n ORDER BY n.created_at, n.id)
UNION ALL
SELECT NULL, '500 users', NULL
 WHERE (SELECT count(*) FROM users) = 500
