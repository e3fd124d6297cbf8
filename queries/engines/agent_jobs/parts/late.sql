-- Late pending jobs, at most 2,000: those with the given ids; else the oldest, if an index starts with status and
-- created_at or the table is small; else those of 500 users (users.sql), the oldest of each first.
late AS MATERIALIZED (
  SELECT l.*
    FROM ((SELECT j.id, j.job_id, j.agent_id, j.created_at, j.status
             FROM :"schema".jobs j
            WHERE :ids IS NULL AND ARRAY['unfinished', 'jobs_scan'] && :met_needs AND j.status = 'pending'
              AND j.created_at < now() - :late
            ORDER BY j.created_at, j.id LIMIT 2000)
          UNION ALL
          (SELECT o.*
             FROM users u
            CROSS JOIN LATERAL (SELECT j.id, j.job_id, j.agent_id, j.created_at, j.status FROM :"schema".jobs j
                                 WHERE u.last = 'pending' AND j.user_id = u.user_id AND j.status = 'pending'
                                   AND j.created_at < now() - :late
                                 ORDER BY j.created_at LIMIT 1000) AS o
            WHERE :ids IS NULL AND NOT ARRAY['unfinished', 'jobs_scan'] && :met_needs
            LIMIT 2000)
          UNION ALL
          SELECT j.id, j.job_id, j.agent_id, j.created_at, j.status
            FROM :"schema".jobs j
           WHERE j.id = ANY (:job_keys) AND j.status = 'pending'
             AND j.created_at < now() - :late) AS l
)
