-- Unlock jobs of lost workers and their queues, as the engine's force_unlock_workers does. That function leaves a job whose last
-- attempt was taken without an attempt, so it would never run; here, one attempt is given back.
-- Indexes: jobs_pkey1, job_queues_pkey1.

-- :refused
WITH
\ir ../parts/sessions.sql
SELECT r.id, r.why
  FROM (SELECT 'job:' || j.id AS id,
               CASE WHEN j.locked_at IS NULL THEN 'no worker has locked it'
\ir ../parts/lost_refused.sql

\ir ../parts/lost_owner.sql

-- :change
\ir ../parts/freed.sql
UPDATE :"schema"._private_jobs j SET locked_at = NULL, locked_by = NULL, attempts = least(j.attempts, j.max_attempts - 1)
  FROM held h
 WHERE j.id = h.id AND j.locked_at IS NOT NULL
RETURNING 'job:' || j.id AS id
