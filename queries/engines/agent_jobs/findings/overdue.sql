-- Jobs that are pending for longer than every wait that the engine limits, while no newer job of their agent has ended.
-- The queue is first in, first out: mark_failed is suggested only if a job of any agent that was created later has ended.
-- Otherwise the queue may be stalled, and the job runs when the queue continues.
-- needs: by_user, by_agent
-- $1 ids text[]: local ids to check, or NULL for all
-- $2 settings jsonb
-- $3 page int: maximum number of rows
-- $4 met_needs text[]
-- Indexes: those of the included part; one on jobs(agent_id, created_at); one on jobs(user_id, status, created_at), for the
-- newest 5 completed and 5 failed jobs of each of 500 users.
WITH RECURSIVE
\ir ../parts/late.sql
, passed AS MATERIALIZED (
  -- Creation time of the newest job that ended without an operator.
  SELECT max(l.created_at) AS at
    FROM users u
   CROSS JOIN LATERAL ((SELECT j.created_at, j.error FROM :"schema".jobs j WHERE j.user_id = u.user_id AND j.status = 'completed' ORDER BY j.created_at DESC LIMIT 5)
                       UNION ALL
                       (SELECT j.created_at, j.error FROM :"schema".jobs j WHERE u.last >= 'failed' AND j.user_id = u.user_id AND j.status = 'failed' ORDER BY j.created_at DESC LIMIT 5)) AS l
   WHERE coalesce(l.error, '') NOT LIKE '% by operator %'
)
(SELECT 'job:' || j.id AS id, extract(epoch FROM j.created_at)::float8 AS since,
        jsonb_build_object('job_id', j.job_id, 'created_at', date_trunc('second', j.created_at)::text, 'overtaker', j.overtaker,
                           'age', CASE WHEN isfinite(j.created_at) THEN date_trunc('second', now() - j.created_at)::text ELSE 'infinite time' END,
                           'rest', CASE WHEN p.at > j.created_at THEN 'Jobs that were created later have ended'
                                        ELSE 'No job that was created later has ended: the job runs when the queue continues, unless its completion was not recorded' END) AS evidence,
        coalesce(p.at > j.created_at, false) AS suggest
   FROM judged j CROSS JOIN passed p
  WHERE j.overtaker IS NULL
  ORDER BY j.created_at, j.id
  LIMIT $3::int)
UNION ALL
SELECT NULL, NULL, NULL, NULL FROM more
