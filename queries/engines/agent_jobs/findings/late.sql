-- Jobs that are pending for longer than every wait that the engine limits. In a mirror, a newer job of the agent that
-- has ended is completion_not_recorded. The queue is first in, first out: mark_failed is suggested only if a job of any
-- agent that was created later has ended. If a job has ended lately, but none that was created later, the queue is
-- working on its backlog, and the finding is minor. Otherwise the queue may be stalled, and the job runs when the queue
-- continues.
-- needs: by_user, by_agent
-- Indexes: those of the included part; one on jobs(agent_id, created_at); one on jobs(user_id, status, created_at), for
-- the newest 5 completed, failed and active jobs of each of 500 users, or one scan of a small table.
WITH \ir ../parts/users.sql
, \ir ../parts/late.sql
, \ir ../parts/judged.sql
, more AS (SELECT (SELECT count(*) FROM late) = 2000 OR NOT ARRAY['unfinished', 'jobs_scan'] && :met_needs AND (SELECT count(*) FROM users) = 500 AS more),
taken AS MATERIALIZED (
  -- Newest creation and newest end of a job that ended without an operator or, in a polled table, was started.
  SELECT max(l.created_at) AS created,
         max(greatest(l.completed_at, l.started_at)) FILTER (WHERE greatest(l.completed_at, l.started_at) <= now() + interval '5 minutes') AS at
    FROM (SELECT j.created_at, CASE WHEN j.status <> 'active' THEN j.completed_at END AS completed_at, j.started_at, j.error
            FROM :"schema".jobs j
           WHERE 'jobs_scan' = ANY (:met_needs) AND (j.status IN ('completed', 'failed') OR :settings ->> 'profile' = 'table' AND j.status = 'active')
          UNION ALL
          SELECT n.*
            FROM users u
           CROSS JOIN LATERAL ((SELECT j.created_at, j.completed_at, j.started_at, j.error FROM :"schema".jobs j WHERE j.user_id = u.user_id AND j.status = 'completed' ORDER BY j.created_at DESC LIMIT 5)
                               UNION ALL
                               (SELECT j.created_at, j.completed_at, j.started_at, j.error FROM :"schema".jobs j WHERE u.last >= 'failed' AND j.user_id = u.user_id AND j.status = 'failed' ORDER BY j.created_at DESC LIMIT 5)
                               UNION ALL
                               (SELECT j.created_at, NULL, j.started_at, j.error FROM :"schema".jobs j WHERE :settings ->> 'profile' = 'table' AND j.user_id = u.user_id AND j.status = 'active' ORDER BY j.created_at DESC LIMIT 5)) AS n
           WHERE NOT 'jobs_scan' = ANY (:met_needs)) AS l
   WHERE coalesce(l.error, '') NOT LIKE '% by operator %'
),
reasons AS (
  SELECT j.*, CASE WHEN j.overtaker IS NOT NULL THEN 'overtaken'
                   WHEN t.created > j.created_at THEN 'passed'
                   WHEN t.at > now() - :overdue THEN 'backlog' ELSE 'stalled' END AS reason
    FROM judged j CROSS JOIN taken t
   WHERE j.overtaker IS NULL OR :settings ->> 'profile' = 'table'
)
(SELECT 'job:' || j.id AS id, extract(epoch FROM j.created_at)::float8 AS since,
        jsonb_build_object('job_id', j.job_id, 'created_at', date_trunc('second', j.created_at)::text, 'agent', j.agent_id::text, 'reason', j.reason,
                           'age', CASE WHEN isfinite(j.created_at) THEN date_trunc('second', now() - j.created_at)::text ELSE 'infinite time' END,
                           'rest', CASE WHEN j.reason = 'backlog' THEN 'Jobs end, but none that was created later: the queue is working on its backlog'
                                        WHEN :settings ->> 'profile' = 'table' AND j.reason = 'overtaken' THEN 'Jobs of the same agent that were created later were taken: the executors pass this one over'
                                        WHEN :settings ->> 'profile' = 'table' AND j.reason = 'passed' THEN 'Jobs that were created later were taken, but none of the same agent: the executors may not serve the agent'
                                        WHEN j.reason = 'passed' THEN 'Jobs that were created later have ended'
                                        ELSE 'No job that was created later has ended: the job runs when the queue continues, unless its completion was not recorded' END) AS evidence,
        j.reason = 'passed' AND :settings ->> 'profile' = 'mirror' AS suggest,
        CASE j.reason WHEN 'backlog' THEN 3 ELSE 6 END AS severity
   FROM reasons j
  ORDER BY j.created_at, j.id
  LIMIT :limit)
UNION ALL
SELECT NULL, NULL, NULL, NULL, NULL FROM more WHERE :ids IS NULL AND more
