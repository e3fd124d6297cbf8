-- Active jobs of a polled table, at most 2,000: those with the given ids; else the oldest, if an index starts with status and
-- created_at or the table is small; else those of 500 users (users.sql), the oldest of each first.
held AS MATERIALIZED (
  SELECT j.*
    FROM ((SELECT * FROM :"schema".jobs
            WHERE :ids IS NULL AND ARRAY['unfinished', 'jobs_scan'] && :met_needs AND status = 'active' ORDER BY created_at LIMIT 2000)
          UNION ALL
          (SELECT o.*
             FROM users u
            CROSS JOIN LATERAL (SELECT * FROM :"schema".jobs a WHERE a.user_id = u.user_id AND a.status = 'active' ORDER BY a.created_at LIMIT 1000) AS o
            WHERE :ids IS NULL AND NOT ARRAY['unfinished', 'jobs_scan'] && :met_needs
            LIMIT 2000)
          UNION ALL
          SELECT * FROM :"schema".jobs WHERE id = ANY (:job_keys) AND status = 'active') AS j
   WHERE :settings ->> 'profile' = 'table'
)
