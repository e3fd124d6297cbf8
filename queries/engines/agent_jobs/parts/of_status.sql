-- Jobs of the status that `wanted` names, in a polled table: `at` is the start of an active job, and the last change of
-- another. At most 2,000, the oldest first: those with the given ids; else all, if an index starts with status and
-- created_at or the table is small; else those of 500 users (users.sql). The including file has `wanted`, which must not
-- be materialized: a partial index serves a constant only.
-- Indexes: one on jobs(status, created_at), or that on jobs(user_id, status, created_at).
nodes AS MATERIALIZED (
  SELECT 'job:' || j.id AS id, j.job_id, j.agent_id,
         CASE j.status WHEN 'active' THEN coalesce(j.started_at, j.updated_at) ELSE greatest(j.created_at, j.updated_at) END AS at
    FROM ((SELECT j.* FROM wanted w JOIN :"schema".jobs j ON j.status = w.status
            WHERE :ids IS NULL AND ARRAY['unfinished', 'jobs_scan'] && :met_needs ORDER BY j.created_at LIMIT 2000)
          UNION ALL
          (SELECT o.*
             FROM users u
            CROSS JOIN LATERAL (SELECT j.* FROM wanted w JOIN :"schema".jobs j ON j.status = w.status
                                 WHERE j.user_id = u.user_id ORDER BY j.created_at LIMIT 1000) AS o
            WHERE :ids IS NULL AND NOT ARRAY['unfinished', 'jobs_scan'] && :met_needs
            LIMIT 2000)
          UNION ALL
          SELECT j.* FROM wanted w JOIN :"schema".jobs j ON j.status = w.status WHERE j.id = ANY (:job_keys)) AS j
   WHERE :settings ->> 'profile' = 'table'
)
