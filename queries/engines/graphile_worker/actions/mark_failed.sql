-- Use up the attempts of jobs that wait, or whose worker is lost, as the engine's permanently_fail_jobs does. That
-- function leaves the locks; here, they are removed, or the queue would wait for its 4 hours.
-- Indexes: jobs_pkey1, job_queues_pkey1.

-- :refused
WITH
\ir ../parts/sessions.sql
SELECT r.id, r.why
  FROM (SELECT 'job:' || j.id AS id,
               CASE WHEN j.locked_at IS NULL AND j.attempts >= j.max_attempts THEN 'it has failed as often as it may'
\ir ../parts/lost_refused.sql

\ir ../parts/lost_owner.sql

-- :change
\ir ../parts/freed.sql
UPDATE :"schema"._private_jobs j
   SET attempts = j.max_attempts, last_error = coalesce(nullif(:reason, ''), 'Manually marked as failed'), updated_at = now(), locked_at = NULL, locked_by = NULL
  FROM held h
 WHERE j.id = h.id AND (j.locked_at IS NOT NULL OR j.attempts < j.max_attempts)
RETURNING 'job:' || j.id AS id
