-- checked: jobs of one status, in a polled table. At most 2,000, the oldest first: those with the given ids; else all, if an index
-- starts with status and created_at; else those of 500 users.
-- status: `delayed`, for example
-- Indexes: one on jobs(status, created_at), or that on jobs(user_id, status, created_at).
\ir users.sql
, checked AS MATERIALIZED (
  (SELECT j.* FROM :"schema".jobs j
    WHERE :ids IS NULL AND :settings ->> 'profile' = 'table' AND 'unfinished' = ANY (:met_needs) AND j.status = :'status' ORDER BY j.created_at LIMIT 2000)
  UNION ALL
  (SELECT o.*
     FROM users u
    CROSS JOIN LATERAL (SELECT j.* FROM :"schema".jobs j WHERE j.user_id = u.user_id AND j.status = :'status' ORDER BY j.created_at LIMIT 1000) AS o
    WHERE :ids IS NULL AND :settings ->> 'profile' = 'table' AND NOT 'unfinished' = ANY (:met_needs)
    LIMIT 2000)
  UNION ALL
  SELECT j.* FROM :"schema".jobs j
   WHERE j.id = ANY (:job_keys) AND j.status = :'status'
)
