-- Retryable jobs that failed with the same error, if many did, and at least half of the first 2,000. Errors are compared without
-- words that contain a digit, such as ids.
-- Indexes: the one on oban_jobs(state, queue, priority, scheduled_at, id), oban_jobs_pkey.
WITH retryable AS MATERIALIZED (
  (SELECT j.*, true AS first FROM :"schema".oban_jobs j WHERE j.state = 'retryable'
    ORDER BY j.queue, j.priority, j.scheduled_at, j.id LIMIT 2000)
  UNION ALL
  SELECT j.*, false FROM :"schema".oban_jobs j
   WHERE j.state = 'retryable' AND j.id = ANY (ARRAY(SELECT substr(i, 5)::int8 FROM unnest(:ids) AS i WHERE i ~ '^job:[0-9]{1,18}$'))
),
errors AS MATERIALIZED (
  SELECT j.id, j.attempted_at, j.first,
\ir ../parts/error.sql
         AS error
    FROM retryable j
),
folded AS (
  SELECT e.*, left(regexp_replace(e.error, '[[:alnum:]_-]*[0-9][[:alnum:]_-]*', '', 'g'), 200) AS alike FROM errors e
),
alike AS (
  SELECT f.alike FROM folded f WHERE f.first GROUP BY f.alike
  HAVING count(*) >= :failing_alike::int AND count(*) * 2 >= (SELECT count(*) FROM retryable r WHERE r.first)
)
(SELECT 'job:' || f.id AS id, extract(epoch FROM f.attempted_at)::float8 AS since,
        jsonb_build_object('error', f.error, 'failed', date_trunc('second', f.attempted_at)::text) AS evidence
   FROM folded f
  WHERE f.first = (:ids IS NULL) AND f.alike IN (SELECT a.alike FROM alike a)
  ORDER BY f.attempted_at, f.id
  LIMIT :page)
UNION ALL
SELECT NULL, NULL, NULL WHERE :ids IS NULL AND (SELECT count(*) FROM retryable) = 2000
