-- Jobs that are pending for too long while a newer job of the same agent has ended: the UPDATE at their end is
-- missing. With table as the profile such a job was skipped by the executors: see overdue.
-- needs: by_user, by_agent
-- Indexes: those of the included part, one on jobs(agent_id, created_at).
\ir ../parts/late.sql
(SELECT 'job:' || j.id AS id, extract(epoch FROM j.created_at)::float8 AS since,
        jsonb_build_object('job_id', j.job_id, 'created_at', date_trunc('second', j.created_at)::text, 'overtaker', j.overtaker, 'reason', 'passed',
                           'age', CASE WHEN isfinite(j.created_at) THEN date_trunc('second', now() - j.created_at)::text ELSE 'infinite time' END) AS evidence
   FROM judged j
  WHERE j.overtaker IS NOT NULL AND :settings ->> 'profile' = 'mirror'
  ORDER BY j.created_at, j.id
  LIMIT :limit)
UNION ALL
SELECT NULL, NULL, NULL FROM more
