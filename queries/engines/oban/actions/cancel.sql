-- Cancel jobs that do not run, or whose producer is gone: the engine cancels an executing one by a message to its producer, and
-- makes the same change to its row.
-- Index: oban_jobs_pkey.

-- :refused
SELECT r.id, r.why
  FROM (SELECT 'job:' || j.id AS id,
               CASE WHEN j.state::text IN ('completed', 'discarded', 'cancelled') THEN 'the job is ' || j.state || ': it has ended'
\ir ../parts/dead_owner.sql

-- :change
UPDATE :"schema".oban_jobs j SET state = 'cancelled', cancelled_at = timezone('UTC', now())
\ir ../parts/seen.sql
   AND j.state::text NOT IN ('completed', 'discarded', 'cancelled')
RETURNING 'job:' || j.id AS id
