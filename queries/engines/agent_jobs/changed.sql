-- Changes since a time: new jobs of 500 users. A row without an id says what was not searched.
-- needs: by_user
-- cursor: JSON object with the last place of each part on the previous page, or NULL
-- Index: one on jobs(user_id, status, created_at) backwards, for each user and status. A page reads at most as many users and
-- statuses as it has rows: those with the newest jobs. An index-only scan finds the time at which the page is full.
\ir parts/users.sql
, c AS MATERIALIZED (
  SELECT to_timestamp(:since) AS since, coalesce(split_part(:cursor::text::jsonb ->> 'new', '|', 1)::timestamptz, now()) AS at,
         coalesce(split_part(:cursor::text::jsonb ->> 'new', '|', 2)::uuid, 'ffffffff-ffff-ffff-ffff-ffffffffffff') AS id
),
heads AS MATERIALIZED (
  SELECT u.user_id, s.status, h.created_at
    FROM c
   CROSS JOIN users u
   CROSS JOIN unnest(ARRAY['pending', 'active', 'completed', 'failed', 'delayed', 'paused']) AS s(status)
   CROSS JOIN LATERAL (SELECT j.created_at FROM :"schema".jobs j
                        WHERE u.last >= s.status AND j.user_id = u.user_id AND j.status = s.status
                          AND j.created_at >= c.since AND j.created_at <= c.at AND (j.created_at, j.id) < (c.at, c.id)
                        ORDER BY j.created_at DESC LIMIT 1) AS h
   ORDER BY h.created_at DESC
   FETCH FIRST (:page) ROWS WITH TIES
),
full_at AS MATERIALIZED (
  SELECT t.created_at
    FROM c
   CROSS JOIN heads h
   CROSS JOIN LATERAL (SELECT j.created_at FROM :"schema".jobs j
                        WHERE j.user_id = h.user_id AND j.status = h.status AND j.created_at >= c.since AND j.created_at < c.at
                        ORDER BY j.created_at DESC LIMIT :page) AS t
   ORDER BY t.created_at DESC
   LIMIT 1 OFFSET :page - 1
)
(SELECT 'job:' || j.id AS id, extract(epoch FROM j.created_at)::float8 AS at, 'created' AS what, NULL::text AS old, NULL::text AS new,
        'new' AS part, j.created_at || '|' || j.id AS place
   FROM c
  CROSS JOIN heads h
  CROSS JOIN LATERAL (SELECT j.id, j.created_at FROM :"schema".jobs j
                       WHERE j.user_id = h.user_id AND j.status = h.status
                         AND j.created_at >= coalesce((SELECT created_at FROM full_at), c.since) AND j.created_at <= c.at AND (j.created_at, j.id) < (c.at, c.id)
                       ORDER BY j.created_at DESC, j.id DESC LIMIT :page) AS j
  ORDER BY j.created_at DESC, j.id DESC
  LIMIT :page)
UNION ALL
SELECT NULL, NULL, 'only new jobs are searched' || CASE WHEN (SELECT count(*) FROM users) = 500 THEN ', of 500 users' ELSE '' END, NULL, NULL, NULL, NULL
