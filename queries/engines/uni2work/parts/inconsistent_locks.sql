-- Jobs with only one of lock_instance and lock_time. No constraint forbids that.
-- Indexes: both ends of queued_job_pkey, and one on queued_job(lock_time) if it exists.
\ir locked.sql
, nodes AS (SELECT 'job:' || l.id AS id, l.id AS job, l.creation_time, l.lock_instance, l.lock_time FROM locked l),
more AS (SELECT EXISTS (SELECT FROM :"schema".queued_job ORDER BY id OFFSET :window::int) AS more)
