-- Overdue pending jobs. overtaker is the job id of a newer job of the same agent that has ended without an operator, if
-- one of the next 50 has. At most 2,000 jobs are checked: those with the given ids; else the oldest, if an index starts
-- with status and created_at or the table is small; else those of 500 users, the oldest of each first.
\ir users.sql
, late AS MATERIALIZED (
  SELECT l.*
    FROM ((SELECT j.id, j.job_id, j.agent_id, j.created_at
             FROM :"schema".jobs j
            WHERE :ids IS NULL AND ARRAY['unfinished', 'jobs_scan'] && :met_needs AND j.status = 'pending'
              AND j.created_at < now() - :overdue
            ORDER BY j.created_at, j.id LIMIT 2000)
          UNION ALL
          (SELECT o.*
             FROM users u
            CROSS JOIN LATERAL (SELECT j.id, j.job_id, j.agent_id, j.created_at FROM :"schema".jobs j
                                 WHERE u.last = 'pending' AND j.user_id = u.user_id AND j.status = 'pending'
                                   AND j.created_at < now() - :overdue
                                 ORDER BY j.created_at LIMIT 1000) AS o
            WHERE :ids IS NULL AND NOT ARRAY['unfinished', 'jobs_scan'] && :met_needs
            LIMIT 2000)
          UNION ALL
          SELECT j.id, j.job_id, j.agent_id, j.created_at
            FROM :"schema".jobs j
           WHERE j.id = ANY (:job_keys) AND j.status = 'pending'
             AND j.created_at < now() - :overdue) AS l
),
-- Same order as the result, so that only the jobs of one page are checked. OFFSET 0 makes the server check each job once.
judged AS (
  SELECT l.*, (SELECT o.job_id
                 FROM (SELECT n.job_id, n.completed_at, n.error FROM :"schema".jobs n
                        WHERE n.agent_id = l.agent_id AND n.created_at > l.created_at
                        ORDER BY n.created_at LIMIT 50) AS o
                WHERE o.completed_at IS NOT NULL AND coalesce(o.error, '') NOT LIKE '% by operator %'
                LIMIT 1) AS overtaker
    FROM (SELECT * FROM late ORDER BY created_at, id) AS l
   ORDER BY l.created_at, l.id OFFSET 0
),
more AS (SELECT (SELECT count(*) FROM late) = 2000 OR NOT ARRAY['unfinished', 'jobs_scan'] && :met_needs AND (SELECT count(*) FROM users) = 500 AS more)
