-- Failed jobs of 500 users, newest first. The engine does not retry them and has no mark for handled ones. A row
-- without an id means that there may be more.
-- needs: by_user
-- cursor: created_at|id of the last row of the previous page, or NULL
-- Indexes: jobs_pkey; one on jobs(user_id, status, created_at). A page reads at most as many users as it has rows: the
-- users with the newest failed jobs. An index-only scan finds the time at which the page is full; older jobs are not
-- read.
WITH \ir parts/users.sql
, c AS MATERIALIZED (
  SELECT coalesce(split_part(:cursor, '|', 1)::timestamptz, 'infinity') AS at,
         coalesce(split_part(:cursor, '|', 2)::uuid, 'ffffffff-ffff-ffff-ffff-ffffffffffff') AS id
),
heads AS MATERIALIZED (
  SELECT u.user_id, h.created_at
    FROM c
   CROSS JOIN users u
   CROSS JOIN LATERAL (SELECT j.created_at FROM :"schema".jobs j
                        WHERE u.last >= 'failed' AND j.user_id = u.user_id AND j.status = 'failed' AND j.created_at <= c.at AND (j.created_at, j.id) < (c.at, c.id)
                        ORDER BY j.created_at DESC LIMIT 1) AS h
   WHERE :ids IS NULL
   ORDER BY h.created_at DESC
   FETCH FIRST (:limit) ROWS WITH TIES
),
full_at AS MATERIALIZED (
  SELECT t.created_at
    FROM c
   CROSS JOIN heads h
   CROSS JOIN LATERAL (SELECT j.created_at FROM :"schema".jobs j
                        WHERE j.user_id = h.user_id AND j.status = 'failed' AND j.created_at < c.at
                        ORDER BY j.created_at DESC LIMIT :limit) AS t
   ORDER BY t.created_at DESC
   LIMIT 1 OFFSET :limit - 1
),
failed AS (
  SELECT f.*
    FROM c
   CROSS JOIN heads h
   CROSS JOIN LATERAL (SELECT j.*, j.xmin, j.ctid FROM :"schema".jobs j
                        WHERE h.created_at >= coalesce((SELECT created_at FROM full_at), '-infinity')
                          AND j.user_id = h.user_id AND j.status = 'failed' AND j.created_at <= c.at AND (j.created_at, j.id) < (c.at, c.id)
                          AND j.created_at >= coalesce((SELECT created_at FROM full_at), '-infinity')
                        ORDER BY j.created_at DESC, j.id DESC LIMIT :limit) AS f
  UNION ALL
  SELECT j.*, j.xmin, j.ctid FROM :"schema".jobs j
   WHERE j.status = 'failed'
     AND j.id = ANY (:job_keys)
),
\ir parts/dead_letters.sql
(SELECT * FROM dead_letters)
UNION ALL
SELECT NULL, '500 users', NULL, NULL, NULL, NULL, NULL, NULL, NULL
 WHERE :ids IS NULL AND (SELECT count(*) FROM users) = 500
