-- Jobs of a user, newest first. The index serves each status separately, so the newest jobs of each one that
-- they have are merged.
-- needs: by_user
-- cursor: created_at|id of the last row of the previous page, or NULL
WITH RECURSIVE s AS (
  (SELECT j.status FROM :"schema".jobs j WHERE j.user_id = substr(:parent, 6)::uuid ORDER BY j.status LIMIT 1)
  UNION ALL
  SELECT (SELECT j.status FROM :"schema".jobs j WHERE j.user_id = substr(:parent, 6)::uuid AND j.status > s.status ORDER BY j.status LIMIT 1) FROM s WHERE s.status IS NOT NULL
), page AS (
  SELECT j.*
    FROM (SELECT coalesce(split_part(:cursor, '|', 1)::timestamptz, 'infinity') AS at,
                 coalesce(split_part(:cursor, '|', 2)::uuid, 'ffffffff-ffff-ffff-ffff-ffffffffffff') AS id) AS c
   CROSS JOIN s
   CROSS JOIN LATERAL (
          SELECT j.*, j.xmin, j.ctid FROM :"schema".jobs j
           WHERE j.user_id = substr(:parent, 6)::uuid AND j.status = s.status
             AND j.created_at <= c.at AND (j.created_at, j.id) < (c.at, c.id)
           ORDER BY j.created_at DESC, j.id DESC LIMIT :limit) AS j
   ORDER BY j.created_at DESC, j.id DESC
   LIMIT :limit
),
\ir parts/page_nodes.sql
SELECT 'job:' || n.id AS id, n.cursor, n.node FROM page_nodes n ORDER BY n.created_at DESC, n.id DESC
