-- failures: the first 2,000 retryable jobs and those that are asked for, with the error of their last attempt.
-- Indexes: the one on oban_jobs(state, queue, priority, scheduled_at, id), oban_jobs_pkey.
retryable AS MATERIALIZED (
  (SELECT j.*, true AS first FROM :"schema".oban_jobs j WHERE j.state = 'retryable'
    ORDER BY j.queue, j.priority, j.scheduled_at, j.id LIMIT 2000)
  UNION ALL
  SELECT j.*, false FROM :"schema".oban_jobs j
   WHERE j.state = 'retryable' AND j.id = ANY (:job_keys)
),
failures AS MATERIALIZED (
  SELECT 'job:' || j.id AS id, j.attempted_at AS at, j.first,
\ir error.sql
         AS error
    FROM retryable j
),
more AS (SELECT (SELECT count(*) FROM retryable) = 2000 AS more)
