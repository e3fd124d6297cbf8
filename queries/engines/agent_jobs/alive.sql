-- The workers: when the newest job ended. Nothing else of them is recorded.
-- needs: by_updated
-- Index: one on updated_at; 100 jobs are read.
SELECT 'the workers' AS worker, extract(epoch FROM max(o.updated_at))::float8 AS seen, CASE WHEN max(o.updated_at) >= now() - :late THEN true END AS alive,
       NULL::jsonb AS serves, false AS only
  FROM (SELECT j.updated_at, j.status FROM :"schema".jobs j ORDER BY j.updated_at DESC LIMIT 100) AS o
 WHERE o.status IN ('completed', 'failed', 'active')
