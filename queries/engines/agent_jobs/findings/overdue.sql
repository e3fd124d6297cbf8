-- Pending for longer than every wait that the engine bounds, and no newer job of its agent has ended.
-- The queue is first in, first out: to write a job off is suggested only where one that was made later, of whatever agent,
-- has ended. Else the queue may stand still, and the job runs when it goes on.
-- needs: by_user, by_agent
-- $1 ids text[]: only for these local ids, or NULL
-- $2 limits jsonb
-- $3 page int: how many at most
-- $4 have text[]
-- Indexes: those of the included part, one on jobs(agent_id, created_at), one on jobs(user_id, status, created_at): the
-- newest 5 finished jobs of either sort of each of 500 users.
WITH RECURSIVE
\ir ../parts/late.sql
, passed AS MATERIALIZED (
  -- When the newest job that has ended by itself was made.
  SELECT max(l.created_at) AS at
    FROM users u
   CROSS JOIN LATERAL ((SELECT j.created_at, j.error FROM :"schema".jobs j WHERE j.user_id = u.user_id AND j.status = 'completed' ORDER BY j.created_at DESC LIMIT 5)
                       UNION ALL
                       (SELECT j.created_at, j.error FROM :"schema".jobs j WHERE u.last >= 'failed' AND j.user_id = u.user_id AND j.status = 'failed' ORDER BY j.created_at DESC LIMIT 5)) AS l
   WHERE coalesce(l.error, '') NOT LIKE '% by operator %'
)
(SELECT 'job:' || j.id AS id, extract(epoch FROM j.created_at)::float8 AS since,
        jsonb_build_object('job_id', j.job_id, 'created_at', date_trunc('second', j.created_at)::text, 'overtaker', j.overtaker,
                           'age', CASE WHEN isfinite(j.created_at) THEN date_trunc('second', now() - j.created_at)::text ELSE 'ever' END,
                           'rest', CASE WHEN p.at > j.created_at THEN 'Jobs that were made later have ended: this one was passed by'
                                        ELSE 'No job that was made later has ended: it runs when the queue goes on, unless its end was lost' END) AS evidence,
        coalesce(p.at > j.created_at, false) AS suggest
   FROM judged j CROSS JOIN passed p
  WHERE j.overtaker IS NULL
  ORDER BY j.created_at, j.id
  LIMIT $3::int)
UNION ALL
SELECT NULL, NULL, NULL, NULL FROM more
