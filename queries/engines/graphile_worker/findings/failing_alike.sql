-- Jobs that wait for another attempt after the same error, if many do, and at least half of those among the first 5,000 that wait.
-- Errors are compared without words that contain a digit, such as ids.
-- needs: available
-- Indexes: jobs_main_index, jobs_pkey1.
WITH waiting AS MATERIALIZED (
  SELECT j.id FROM :"schema"._private_jobs j WHERE j.is_available = true ORDER BY j.priority, j.run_at LIMIT 5000
),
asked AS MATERIALIZED (
  SELECT w.id, true AS first FROM waiting w
  UNION ALL
  SELECT substr(i, 5)::int8, false FROM unnest(:ids) AS i WHERE i ~ '^job:[0-9]{1,18}$'
),
retried AS MATERIALIZED (
  SELECT j.id, j.updated_at, left(j.last_error, 1000) AS error FROM :"schema"._private_jobs j
   WHERE j.is_available AND j.attempts > 0 AND j.last_error IS NOT NULL AND j.id = ANY (ARRAY(SELECT a.id FROM asked a))
),
folded AS MATERIALIZED (
  SELECT j.id, j.updated_at, a.first, left(j.error, 300) AS error,
         left(regexp_replace(j.error, '[[:alnum:]_-]*[0-9][[:alnum:]_-]*', '', 'g'), 200) AS alike
    FROM asked a JOIN retried j ON j.id = a.id
),
alike AS (
  SELECT f.alike FROM folded f WHERE f.first GROUP BY f.alike
  HAVING count(*) >= :failing_alike::int AND count(*) * 2 >= (SELECT count(*) FROM folded r WHERE r.first)
)
(SELECT 'job:' || f.id AS id, extract(epoch FROM f.updated_at)::float8 AS since,
        jsonb_build_object('error', f.error, 'failed', date_trunc('second', f.updated_at)::text) AS evidence
   FROM folded f
  WHERE f.first = (:ids IS NULL) AND f.alike IN (SELECT a.alike FROM alike a)
  ORDER BY f.updated_at, f.id
  LIMIT :page)
UNION ALL
SELECT NULL, NULL, NULL WHERE :ids IS NULL AND (SELECT count(*) FROM waiting) = 5000
