-- Sections of the actions on jobs whose files do not have them. Locked rows are neither changed nor locked with FOR
-- UPDATE.
-- Index: queued_job_pkey.

-- :lock
-- kinds: job
WITH held AS MATERIALIZED (
  SELECT q.*, q.xmin AS row_version FROM :"schema".queued_job q
   WHERE q.id = ANY (:job_keys) AND (q.lock_instance IS NOT NULL OR q.lock_time IS NOT NULL)
),
\ir parts/versions.sql
SELECT v.id, v.version, v.unchanged, v.steady FROM versions v

-- :lock
-- kinds: job
WITH held AS MATERIALIZED (
  SELECT q.*, q.xmin AS row_version FROM :"schema".queued_job q
   WHERE q.id = ANY (:job_keys) AND q.lock_instance IS NULL AND q.lock_time IS NULL
   ORDER BY q.id FOR UPDATE SKIP LOCKED
),
\ir parts/versions.sql
SELECT v.id, v.version, v.unchanged, v.steady FROM versions v
