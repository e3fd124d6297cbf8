-- Unfinished jobs of 500 users, oldest first. A row without an id means that there may be more.
-- needs: by_user
-- cursor: created_at|id of the last row of the previous page, or NULL
-- Index: one on jobs(user_id, status, created_at). In this index the paused and pending jobs of a user come last,
-- directly before the active jobs of the next user. If these neighbours are few, one index range reads them together.
-- Servers before 18 use only the first column of such a bound and would read all jobs of the user.
WITH \ir parts/users.sql
, c AS MATERIALIZED (
  SELECT coalesce(split_part(:cursor, '|', 1)::timestamptz, '-infinity') AS at,
         coalesce(split_part(:cursor, '|', 2)::uuid, '00000000-0000-0000-0000-000000000000') AS id
),
neighbours AS MATERIALIZED (
  SELECT s.*, n.*
    FROM c
   CROSS JOIN (SELECT lag(u.user_id) OVER (ORDER BY u.user_id) AS before, u.user_id AS after FROM users u
               UNION ALL
               (SELECT u.user_id, NULL FROM users u ORDER BY u.user_id DESC LIMIT 1)) AS s
   CROSS JOIN LATERAL (
         SELECT j.user_id, j.status::text AS status, min(j.created_at) FILTER (WHERE j.created_at > c.at) AS next,
                bool_or(j.created_at = c.at) AS same, sum(count(*)) OVER () <= 45 AS few
           FROM (SELECT j.user_id, j.status, j.created_at FROM :"schema".jobs j
                  WHERE (j.user_id, j.status) >= (coalesce(s.before, s.after), CASE WHEN s.before IS NULL THEN 'active' ELSE 'paused' END)
                    AND (j.user_id, j.status) <= (coalesce(s.after, s.before), CASE WHEN s.after IS NULL THEN 'pending' ELSE 'active' END)
                  LIMIT 46) AS j
          GROUP BY j.user_id, j.status) AS n
),
\ir parts/live.sql
SELECT * FROM live
