-- Unfinished jobs, oldest first.
-- needs: by_user, unfinished
-- $1 cursor text: created_at|id of the last row of the previous page, or NULL
-- $2 settings jsonb: group: agent or user, the grouping of the tree
-- $3 page int: maximum number of rows
-- Index: one on jobs(status, created_at) of unfinished jobs, read once for each status and merged.
SELECT 'job:' || j.id AS id, j.created_at || '|' || j.id AS cursor, to_jsonb(n) AS node
  FROM (SELECT coalesce(split_part($1::text, '|', 1)::timestamptz, '-infinity') AS at,
               coalesce(split_part($1::text, '|', 2)::uuid, '00000000-0000-0000-0000-000000000000') AS id) AS c
 CROSS JOIN LATERAL (
        (SELECT j.*, j.xmin, j.ctid FROM :"schema".jobs j
          WHERE j.status = 'pending' AND j.created_at >= c.at AND (j.created_at, j.id) > (c.at, c.id)
          ORDER BY j.created_at, j.id LIMIT $3::int)
         UNION ALL
        (SELECT j.*, j.xmin, j.ctid FROM :"schema".jobs j
          WHERE j.status = 'active' AND j.created_at >= c.at AND (j.created_at, j.id) > (c.at, c.id)
          ORDER BY j.created_at, j.id LIMIT $3::int)
         UNION ALL
        (SELECT j.*, j.xmin, j.ctid FROM :"schema".jobs j
          WHERE j.status = 'delayed' AND j.created_at >= c.at AND (j.created_at, j.id) > (c.at, c.id)
          ORDER BY j.created_at, j.id LIMIT $3::int)
         UNION ALL
        (SELECT j.*, j.xmin, j.ctid FROM :"schema".jobs j
          WHERE j.status = 'paused' AND j.created_at >= c.at AND (j.created_at, j.id) > (c.at, c.id)
          ORDER BY j.created_at, j.id LIMIT $3::int)) AS j
 CROSS JOIN LATERAL (SELECT
\ir parts/job.sql
       ) AS n
 ORDER BY j.created_at, j.id
 LIMIT $3::int
