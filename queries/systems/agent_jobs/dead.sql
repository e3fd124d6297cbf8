-- Failed jobs of the first 500 users, oldest first: nothing takes them up again, and nothing marks one as looked into.
-- needs: by_user
-- needs of ids: none
-- $1 ids text[]: only for these local ids, or NULL
-- $2 cursor text: created_at|id of the last row of the page before, or NULL
-- $3 page int: how many at most
-- Indexes: jobs_pkey; one on jobs(user_id, status, created_at), in which alone each user's oldest failed job is found:
-- so many of those as fit a page bound what has to be looked at of the rest.
WITH RECURSIVE
\ir parts/users.sql
, begin AS (
  SELECT coalesce(split_part($2::text, '|', 1)::timestamptz, '-infinity') AS at,
         coalesce(split_part($2::text, '|', 2)::uuid, '00000000-0000-0000-0000-000000000000') AS id
), oldest AS MATERIALIZED (
  SELECT u.user_id, (SELECT j.created_at FROM jobs j CROSS JOIN begin b
                      WHERE j.user_id = u.user_id AND j.status = 'failed' AND j.created_at >= b.at AND (j.created_at, j.id) > (b.at, b.id)
                      ORDER BY j.created_at LIMIT 1) AS at
    FROM users u
   WHERE $1::text[] IS NULL
), bound AS (
  SELECT coalesce((SELECT o.at FROM oldest o WHERE o.at IS NOT NULL ORDER BY o.at OFFSET $3::int - 1 LIMIT 1), 'infinity') AS at
), failed AS (
  SELECT f.id
    FROM oldest o CROSS JOIN begin b CROSS JOIN bound e
   CROSS JOIN LATERAL (
         SELECT j.id FROM jobs j
          WHERE j.user_id = o.user_id AND j.status = 'failed' AND j.created_at >= b.at AND (j.created_at, j.id) > (b.at, b.id)
            AND j.created_at <= e.at
          ORDER BY j.created_at, j.id LIMIT $3::int) AS f
   WHERE o.at <= e.at
  UNION ALL
  SELECT j.id FROM jobs j
   WHERE j.status = 'failed'
     AND j.id = ANY (ARRAY(SELECT substr(i, 5)::uuid FROM unnest($1::text[]) AS i WHERE i ~ '^job:[0-9a-f-]{36}$'))
)
SELECT 'job:' || j.id AS id, j.created_at || '|' || j.id AS cursor, 5::int8 AS severity,
       extract(epoch FROM coalesce(j.completed_at, j.updated_at))::float8 AS since,
       'failed'::text AS cause, left(j.error, 300)::text AS error, NULL::text AS was, NULL::text AS is_now
  FROM failed f JOIN jobs j ON j.id = f.id
 ORDER BY j.created_at, j.id
 LIMIT $3::int
