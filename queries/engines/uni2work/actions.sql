-- Sections of the actions on jobs whose files do not have them. Locked rows are neither changed nor locked with FOR UPDATE.
-- Index: queued_job_pkey.

-- :lock
-- kinds: job
\ir parts/versions.sql
   AND (q.lock_instance IS NOT NULL OR q.lock_time IS NOT NULL)

-- :lock
-- kinds: job
\ir parts/versions.sql
   AND q.lock_instance IS NULL AND q.lock_time IS NULL
 ORDER BY q.id
   FOR UPDATE OF q SKIP LOCKED
