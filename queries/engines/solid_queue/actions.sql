-- Sections of actions on jobs.
-- Indexes: solid_queue_jobs_pkey, and those on job_id.

-- :lock
-- kinds: job
WITH \ir parts/locked.sql
SELECT l.id, l.version FROM locked l
