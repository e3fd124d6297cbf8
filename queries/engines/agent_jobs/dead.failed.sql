-- Failed jobs, newest first. The engine does not retry them and has no mark for handled ones.
-- needs: by_user, failed
-- cursor: created_at|id of the last row of the previous page, or NULL
-- Indexes: jobs_pkey; one on jobs(status, created_at) of failed jobs.
WITH failed AS (
  SELECT j.*
    FROM (SELECT coalesce(split_part(:cursor, '|', 1)::timestamptz, 'infinity') AS at,
                 coalesce(split_part(:cursor, '|', 2)::uuid, 'ffffffff-ffff-ffff-ffff-ffffffffffff') AS id) AS c
   CROSS JOIN LATERAL (
          (SELECT j.*, j.xmin, j.ctid FROM :"schema".jobs j
            WHERE :ids IS NULL AND j.status = 'failed' AND j.created_at <= c.at AND (j.created_at, j.id) < (c.at, c.id)
            ORDER BY j.created_at DESC, j.id DESC LIMIT :limit)
           UNION ALL
          SELECT j.*, j.xmin, j.ctid FROM :"schema".jobs j
           WHERE j.status = 'failed'
             AND j.id = ANY (:job_keys)) AS j
),
\ir parts/dead_letters.sql
SELECT * FROM dead_letters
