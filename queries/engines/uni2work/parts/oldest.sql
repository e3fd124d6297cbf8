-- The oldest jobs.
-- Index: the start of queued_job_pkey.
nodes AS (
  SELECT 'job:' || q.job AS id, q.*
    FROM (SELECT id AS job, content, creation_instance, creation_time, lock_instance, lock_time FROM :"schema".queued_job ORDER BY id LIMIT :head::int) AS q
),
more AS (SELECT EXISTS (SELECT FROM :"schema".queued_job ORDER BY id OFFSET :head::int) AS more)
