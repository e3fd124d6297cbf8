-- Delayed and paused jobs of a polled table, by their last change, at most 2,000 of each: those with the given ids; else the
-- oldest, if an index starts with status and created_at or the table is small; else those of 500 users (users.sql). Only an
-- executor that polls this table sets jobs to these statuses.
-- needs: by_user
-- Indexes: one on jobs(status, created_at), or that on jobs(user_id, status, created_at).
\ir users.sql
, nodes AS MATERIALIZED (
  SELECT 'job:' || j.id AS id, j.job_id, j.status, greatest(j.created_at, j.updated_at) AS at
    FROM ((SELECT * FROM :"schema".jobs
            WHERE :ids IS NULL AND ARRAY['unfinished', 'jobs_scan'] && :met_needs AND status = 'delayed' ORDER BY created_at LIMIT 2000)
          UNION ALL
          (SELECT * FROM :"schema".jobs
            WHERE :ids IS NULL AND ARRAY['unfinished', 'jobs_scan'] && :met_needs AND status = 'paused' ORDER BY created_at LIMIT 2000)
          UNION ALL
          (SELECT o.*
             FROM users u
            CROSS JOIN (VALUES ('delayed'), ('paused')) AS s(status)
            CROSS JOIN LATERAL (SELECT * FROM :"schema".jobs o
                                 WHERE u.last >= s.status AND o.user_id = u.user_id AND o.status = s.status ORDER BY o.created_at LIMIT 1000) AS o
            WHERE :ids IS NULL AND NOT ARRAY['unfinished', 'jobs_scan'] && :met_needs
            LIMIT 2000)
          UNION ALL
          SELECT * FROM :"schema".jobs WHERE id = ANY (:job_keys) AND status IN ('delayed', 'paused')) AS j
   WHERE :settings ->> 'profile' = 'table'
),
more AS (SELECT :settings ->> 'profile' = 'table' AND ((SELECT count(*) FROM nodes) >= 2000
     OR NOT ARRAY['unfinished', 'jobs_scan'] && :met_needs AND (SELECT count(*) FROM users) = 500) AS more)
