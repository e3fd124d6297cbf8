-- failures: the first 2,500 jobs that wait, the newest 2,500 jobs, and those that are asked for, if they wait for another attempt.
-- needs: available
-- Indexes: jobs_main_index, jobs_pkey1.
waiting AS MATERIALIZED (
  SELECT j.id FROM :"schema"._private_jobs j WHERE j.is_available = true ORDER BY j.priority, j.run_at LIMIT 2500
),
newest AS MATERIALIZED (SELECT j.id FROM :"schema"._private_jobs j ORDER BY j.id DESC LIMIT 2500),
asked AS MATERIALIZED (
  SELECT w.id, true AS first FROM (SELECT w.id FROM waiting w UNION SELECT n.id FROM newest n) AS w
  UNION ALL
  SELECT substr(i, 5)::int8, false FROM unnest(:ids) AS i WHERE i ~ '^job:[0-9]{1,18}$'
),
retried AS MATERIALIZED (
  SELECT j.id, j.updated_at, left(j.last_error, 1000) AS error FROM :"schema"._private_jobs j
   WHERE j.is_available AND j.attempts > 0 AND j.last_error IS NOT NULL AND j.id = ANY (ARRAY(SELECT a.id FROM asked a))
),
failures AS (SELECT 'job:' || j.id AS id, j.updated_at AS at, j.error, a.first FROM asked a JOIN retried j ON j.id = a.id),
more AS (SELECT (SELECT count(*) FROM waiting) = 2500 AS more)
