-- Everything unfinished of 500 users, oldest first. A row without an id: there may be others.
-- needs: by_user
-- $1 cursor text: created_at|id of the last row of the page before, or NULL
-- $2 limits jsonb: group: whether trees are by agent or by user
-- $3 page int: how many at most
-- Index: one on jobs(user_id, status, created_at). There a user's paused and pending jobs, the last of theirs, and the
-- active ones of the user after them, the first of theirs, are neighbours: where they are few they are read in one go.
-- A server before 18 would read on to the end of a user's jobs: it heeds but the first column of such a bound.
WITH RECURSIVE
\ir parts/users.sql
, neighbours AS MATERIALIZED (
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
