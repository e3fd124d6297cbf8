-- Failed jobs, oldest first. The engine does not retry them and has no mark for handled ones.
-- needs: by_user, failed
-- $1 ids text[]: local ids to check, or NULL for all
-- $2 settings jsonb: group: agent or user, the grouping of the tree
-- $3 cursor text: created_at|id of the last row of the previous page, or NULL
-- $4 page int: maximum number of rows
-- Indexes: jobs_pkey; one on jobs(status, created_at) of failed jobs.
WITH failed AS (
  SELECT j.*
    FROM (SELECT coalesce(split_part($3::text, '|', 1)::timestamptz, '-infinity') AS at,
                 coalesce(split_part($3::text, '|', 2)::uuid, '00000000-0000-0000-0000-000000000000') AS id) AS c
   CROSS JOIN LATERAL (
          (SELECT j.*, j.xmin, j.ctid FROM :"schema".jobs j
            WHERE $1::text[] IS NULL AND j.status = 'failed' AND j.created_at >= c.at AND (j.created_at, j.id) > (c.at, c.id)
            ORDER BY j.created_at, j.id LIMIT $4::int)
           UNION ALL
          SELECT j.*, j.xmin, j.ctid FROM :"schema".jobs j
           WHERE j.status = 'failed'
             AND j.id = ANY (ARRAY(SELECT substr(i, 5)::uuid FROM unnest($1::text[]) AS i WHERE i LIKE 'job:%'))) AS j
)
\ir parts/dead_letters.sql
