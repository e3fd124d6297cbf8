-- What a worker runs next on one job, :id (job:12), for unstick try. From batchGetJobs, batchCompleteJobs and failJob of 0.17, for one job and without SKIP LOCKED.

-- :claim
-- kinds: job
WITH j AS (
  SELECT jobs.job_queue_id, jobs.id FROM :"schema"._private_jobs AS jobs
   WHERE jobs.id = substr(:id, 5)::int8 AND jobs.is_available = true AND jobs.run_at <= now()
     AND (jobs.job_queue_id IS NULL
          OR jobs.job_queue_id IN (SELECT job_queues.id FROM :"schema"._private_job_queues AS job_queues WHERE job_queues.id = jobs.job_queue_id AND job_queues.is_available = true FOR UPDATE))
     FOR UPDATE
),
q AS (
  UPDATE :"schema"._private_job_queues AS job_queues SET locked_by = 'unstick-try', locked_at = now() FROM j WHERE job_queues.id = j.job_queue_id
)
UPDATE :"schema"._private_jobs AS jobs SET attempts = jobs.attempts + 1, locked_by = 'unstick-try', locked_at = now() FROM j WHERE jobs.id = j.id RETURNING jobs.id;

-- :finish
-- kinds: job
WITH j AS (
  DELETE FROM :"schema"._private_jobs AS jobs WHERE jobs.id = substr(:id, 5)::int8 RETURNING jobs.id, jobs.job_queue_id, jobs.locked_by
),
q AS (
  UPDATE :"schema"._private_job_queues AS job_queues SET locked_by = NULL, locked_at = NULL FROM j WHERE job_queues.id = j.job_queue_id AND job_queues.locked_by = j.locked_by
)
SELECT j.id FROM j;

-- :fail
-- kinds: job
WITH had AS (
  SELECT jobs.id, jobs.locked_by FROM :"schema"._private_jobs AS jobs WHERE jobs.id = substr(:id, 5)::int8 AND jobs.locked_by IS NOT NULL
),
j AS (
  UPDATE :"schema"._private_jobs AS jobs
     SET last_error = 'unstick-try', run_at = greatest(now(), jobs.run_at) + exp(least(jobs.attempts, 10)) * interval '1 second', locked_by = NULL, locked_at = NULL
    FROM had WHERE jobs.id = had.id RETURNING jobs.id, jobs.job_queue_id, had.locked_by
),
q AS (
  UPDATE :"schema"._private_job_queues AS job_queues SET locked_by = NULL, locked_at = NULL FROM j WHERE job_queues.id = j.job_queue_id AND job_queues.locked_by = j.locked_by
)
SELECT j.id FROM j;
