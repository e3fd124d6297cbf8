-- Instances that hold a lock, each with the newest one and the kinds of its jobs. One without a lock leaves no sign.
-- Index: queued_job_pkey; of the oldest jobs, 5,000 are read.
SELECT o.lock_instance::text AS worker, extract(epoch FROM max(o.lock_time))::float8 AS seen, CASE WHEN max(o.lock_time) BETWEEN now() - :stale AND now() + :ahead THEN true END AS alive,
       coalesce(jsonb_agg(DISTINCT o.kind) FILTER (WHERE o.kind IS NOT NULL), '[]') AS serves, false AS only
  FROM (SELECT j.lock_instance, j.lock_time, j.content ->> 'job' AS kind FROM :"schema".queued_job j ORDER BY j.id LIMIT 5000) AS o
 WHERE o.lock_instance IS NOT NULL
 GROUP BY o.lock_instance
UNION ALL
SELECT 'an instance without a lock', NULL, NULL, '[]', false
