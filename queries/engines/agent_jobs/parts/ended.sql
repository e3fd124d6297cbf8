-- failures: the jobs that ended in the time, among the newest 2,000. Those that did not fail, or by an operator, have no error.
-- needs: by_created
-- Index: one on jobs(created_at).
failures AS (
  SELECT 'job:' || j.id AS id, j.completed_at AS at, true AS first,
         CASE WHEN j.status = 'failed' AND coalesce(j.error, '') NOT LIKE '% by operator %' THEN coalesce(left(j.error, 1000), '') END AS error
    FROM (SELECT id, status, error, completed_at FROM :"schema".jobs ORDER BY created_at DESC LIMIT 2000) AS j
   WHERE j.status IN ('completed', 'failed') AND j.completed_at BETWEEN now() - :failed_alike AND now()
)
