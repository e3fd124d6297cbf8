-- Newest creation and newest end of a job that ended without an operator, or that in a polled table was started, among
-- the newest 5 of each status of each of 500 users (users.sql), or of a small table. A time ahead is no end. known:
-- there are no other users.
-- needs: by_user, by_agent
-- Index: one on jobs(user_id, status, created_at).
ended AS MATERIALIZED (
  SELECT max(l.created_at) AS created, max(l.at) FILTER (WHERE l.at <= now() + interval '5 minutes') AS at,
         'jobs_scan' = ANY (:met_needs) OR (SELECT count(*) FROM users) < 500 AS known
    FROM (SELECT j.created_at, greatest(CASE WHEN j.status <> 'active' THEN j.completed_at END, j.started_at) AS at, j.error
            FROM :"schema".jobs j
           WHERE 'jobs_scan' = ANY (:met_needs) AND (j.status IN ('completed', 'failed') OR :settings ->> 'profile' = 'table' AND j.status = 'active')
          UNION ALL
          SELECT n.created_at, greatest(CASE WHEN n.status <> 'active' THEN n.completed_at END, n.started_at), n.error
            FROM users u
           CROSS JOIN LATERAL ((SELECT j.* FROM :"schema".jobs j WHERE u.last >= 'completed' AND j.user_id = u.user_id AND j.status = 'completed' ORDER BY j.created_at DESC LIMIT 5)
                                UNION ALL (SELECT j.* FROM :"schema".jobs j WHERE u.last >= 'failed' AND j.user_id = u.user_id AND j.status = 'failed' ORDER BY j.created_at DESC LIMIT 5)
                                UNION ALL (SELECT j.* FROM :"schema".jobs j WHERE :settings ->> 'profile' = 'table' AND j.user_id = u.user_id AND j.status = 'active' ORDER BY j.created_at DESC LIMIT 5)) AS n
           WHERE NOT 'jobs_scan' = ANY (:met_needs)) AS l
   WHERE coalesce(l.error, '') NOT LIKE '% by operator %'
)
