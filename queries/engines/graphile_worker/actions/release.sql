-- Unlock jobs of lost workers and their queues, as the engine's force_unlock_workers does. That function leaves a job
-- whose last attempt was taken without an attempt, so it would never run; here, one is given back if the operator sets
-- again: the job may be what ended its worker.
-- Indexes: jobs_pkey1, job_queues_pkey1.

-- :refused
WITH
\ir ../parts/sessions.sql
SELECT r.id, r.why
  FROM (SELECT 'job:' || j.id AS id,
               CASE WHEN j.locked_at IS NULL THEN 'no worker has locked it'
                    WHEN j.attempts >= j.max_attempts AND (:args ->> 'again')::bool IS NOT TRUE AND
\ir ../parts/lost.sql
                      THEN 'this was the last of its ' || j.max_attempts || ' attempts: mark it as failed, or set again to run it once more'
\ir ../parts/lost_refused.sql

\ir ../parts/lost_owner.sql

-- :change
\ir ../parts/freed.sql
UPDATE :"schema"._private_jobs j SET locked_at = NULL, locked_by = NULL, attempts = least(j.attempts, j.max_attempts - 1)
  FROM held h
 WHERE j.id = h.id AND j.locked_at IS NOT NULL AND (j.attempts < j.max_attempts OR (:args ->> 'again')::bool)
RETURNING 'job:' || j.id AS id
