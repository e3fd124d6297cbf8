-- failures: the first 1,000 retryable jobs, those among the newest 5,000 jobs, and those that are asked for, with the error of their last attempt.
-- Indexes: the one on oban_jobs(state, queue, priority, scheduled_at, id), oban_jobs_pkey.
waiting AS MATERIALIZED (
  SELECT j.id FROM :"schema".oban_jobs j WHERE j.state = 'retryable' ORDER BY j.queue, j.priority, j.scheduled_at, j.id LIMIT 1000
),
newest AS MATERIALIZED (SELECT j.id, j.state FROM :"schema".oban_jobs j ORDER BY j.id DESC LIMIT 5000),
retryable AS MATERIALIZED (
  SELECT j.*, true AS first FROM :"schema".oban_jobs j
   WHERE j.id = ANY (ARRAY(SELECT w.id FROM waiting w UNION SELECT n.id FROM newest n WHERE n.state = 'retryable'))
  UNION ALL
  SELECT j.*, false FROM :"schema".oban_jobs j
   WHERE j.state = 'retryable' AND j.id = ANY (:job_keys)
),
failures AS MATERIALIZED (
  SELECT 'job:' || j.id AS id, j.attempted_at AS at, j.first,
       left((SELECT CASE WHEN e.text LIKE 'Traceback%' THEN regexp_replace(rtrim(e.text, E' \n'), '^.*\n', '') ELSE e.text END
               FROM (SELECT coalesce(to_jsonb(j.errors) -> -1 ->> 'error', CASE WHEN jsonb_typeof(to_jsonb(j.errors) -> -1) = 'string' THEN to_jsonb(j.errors) ->> -1 END) AS text) AS e), 300)
         AS error
    FROM retryable j
),
more AS (SELECT (SELECT count(*) FROM waiting) = 1000 AS more)
