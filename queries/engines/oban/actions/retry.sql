-- Make ended jobs available again, as the engine's retry does, and available ones that have no attempt left. One more attempt is
-- allowed if they are used up. The states in which a job is unique are left empty, because a newer job may be the unique one.
-- Index: oban_jobs_pkey.

-- :refused
SELECT r.id, r.why
  FROM (SELECT 'job:' || j.id AS id,
               CASE WHEN j.state::text NOT IN ('discarded', 'cancelled', 'completed') AND NOT (j.state = 'available' AND j.attempt >= j.max_attempts)
                      THEN 'the job is ' || j.state || ': it has not ended' END AS why
\ir ../parts/asked.sql

-- :change
WITH changed AS (
  UPDATE :"schema".oban_jobs j
     SET state = 'available', max_attempts = greatest(j.max_attempts, j.attempt + 1), scheduled_at = timezone('UTC', now()),
         completed_at = NULL, cancelled_at = NULL, discarded_at = NULL,
         meta = CASE WHEN j.meta ? 'uniq_bmp' THEN jsonb_set(j.meta, '{uniq_bmp}', '[]') ELSE j.meta END
\ir ../parts/seen.sql
     AND (j.state::text IN ('discarded', 'cancelled', 'completed') OR (j.state = 'available' AND j.attempt >= j.max_attempts))
  RETURNING j.id, j.queue
)
\ir ../parts/notified.sql
