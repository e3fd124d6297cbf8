-- Unfinished jobs, oldest first.
-- needs: by_user, unfinished
-- cursor: created_at|id of the last row of the previous page, or NULL
-- Index: one on jobs(status, created_at) of unfinished jobs, read once for each status and merged.
WITH page AS (
  SELECT j.*
    FROM (SELECT coalesce(split_part(:cursor, '|', 1)::timestamptz, '-infinity') AS at,
                 coalesce(split_part(:cursor, '|', 2)::uuid, '00000000-0000-0000-0000-000000000000') AS id) AS c
   CROSS JOIN LATERAL (
          (SELECT j.*, j.xmin, j.ctid FROM :"schema".jobs j
            WHERE j.status = 'pending' AND j.created_at >= c.at AND (j.created_at, j.id) > (c.at, c.id)
            ORDER BY j.created_at, j.id LIMIT :limit)
           UNION ALL
          (SELECT j.*, j.xmin, j.ctid FROM :"schema".jobs j
            WHERE j.status = 'active' AND j.created_at >= c.at AND (j.created_at, j.id) > (c.at, c.id)
            ORDER BY j.created_at, j.id LIMIT :limit)
           UNION ALL
          (SELECT j.*, j.xmin, j.ctid FROM :"schema".jobs j
            WHERE j.status = 'delayed' AND j.created_at >= c.at AND (j.created_at, j.id) > (c.at, c.id)
            ORDER BY j.created_at, j.id LIMIT :limit)
           UNION ALL
          (SELECT j.*, j.xmin, j.ctid FROM :"schema".jobs j
            WHERE j.status = 'paused' AND j.created_at >= c.at AND (j.created_at, j.id) > (c.at, c.id)
            ORDER BY j.created_at, j.id LIMIT :limit)) AS j
   ORDER BY j.created_at, j.id
   LIMIT :limit
),
\ir parts/page_nodes.sql
SELECT 'job:' || n.id AS id, n.cursor, n.node FROM page_nodes n ORDER BY n.created_at, n.id
