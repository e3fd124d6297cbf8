-- Unfinished jobs of 500 users, oldest first. A row without an id means that there may be more.
-- needs: by_user
-- cursor: created_at|id of the last row of the previous page, or NULL
-- Index: one on jobs(user_id, status, created_at), for each user and status.
WITH \ir parts/users.sql
, c AS MATERIALIZED (
  SELECT coalesce(split_part(:cursor, '|', 1)::timestamptz, '-infinity') AS at,
         coalesce(split_part(:cursor, '|', 2)::uuid, '00000000-0000-0000-0000-000000000000') AS id
),
neighbours AS (
  SELECT CASE WHEN u.last >= 'paused' THEN u.user_id END AS before, u.user_id AS after,
         NULL::uuid AS user_id, NULL::text AS status, NULL::timestamptz AS next, false AS same, false AS few
    FROM users u
),
\ir parts/live.sql
SELECT * FROM live
