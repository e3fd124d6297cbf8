-- A page of the unfinished jobs of `users` (users.sql). The including file has the place `c` of the cursor, and
-- `neighbours`: if few jobs are between two users in the index, it holds the time of the oldest one after the cursor's
-- time, and whether any has that time. The page reads at most as many users and statuses as it has rows: those with the
-- oldest rows.
live AS (
  WITH heads AS MATERIALIZED (
    (SELECT h.user_id, h.status
       FROM (SELECT n.user_id, n.status, n.next AS created_at FROM neighbours n WHERE n.few AND n.next IS NOT NULL
             UNION ALL
             SELECT m.user_id, m.status, o.created_at
               FROM c
              CROSS JOIN (SELECT u.user_id, 'delayed' AS status FROM users u WHERE u.last >= 'delayed'
                          UNION ALL
                          SELECT o.*
                            FROM (SELECT DISTINCT n.before, n.after FROM neighbours n WHERE NOT n.few) AS n
                           CROSS JOIN LATERAL (VALUES (n.before, 'paused'), (n.before, 'pending'), (n.after, 'active')) AS o(user_id, status)) AS m
              CROSS JOIN LATERAL (SELECT j.created_at FROM :"schema".jobs j
                                   WHERE j.user_id = m.user_id AND j.status = m.status AND j.created_at >= c.at AND (j.created_at, j.id) > (c.at, c.id)
                                   ORDER BY j.created_at LIMIT 1) AS o) AS h
      ORDER BY h.created_at
      FETCH FIRST (:limit) ROWS WITH TIES)
    UNION
    SELECT n.user_id, n.status FROM neighbours n WHERE n.few AND n.same
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
\ir page_nodes.sql
  (SELECT 'job:' || n.id AS id, n.cursor, n.node FROM page_nodes n ORDER BY n.created_at, n.id)
  UNION ALL
  SELECT NULL, '500 users', NULL
   WHERE (SELECT count(*) FROM users) = 500
)
