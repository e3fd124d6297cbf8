-- Number of jobs in each phase, with the precision of each number. The row of a finished job is deleted.
-- needs: available
-- met_needs: locked and failed jobs need indexes of their own, or a small table
-- Indexes: jobs_main_index, job_queues_pkey1, one on (locked_at) of locked jobs, one on (id) of failed jobs: 10,000 rows of each.
WITH available AS MATERIALIZED (
  SELECT CASE WHEN a.run_at > now() THEN 'scheduled' WHEN NOT q.is_available THEN 'blocked' ELSE 'ready' END AS phase
    FROM (SELECT j.run_at, j.job_queue_id FROM :"schema"._private_jobs j WHERE j.is_available = true ORDER BY j.priority, j.run_at LIMIT 10001) AS a
    LEFT JOIN LATERAL (SELECT i.queue_name, i.is_available FROM :"schema"._private_job_queues i WHERE i.id = a.job_queue_id LIMIT 1) AS q ON true
),
locked AS MATERIALIZED (
  SELECT FROM :"schema"._private_jobs j WHERE 'locked' = ANY (:met_needs) AND j.locked_at IS NOT NULL ORDER BY j.locked_at LIMIT 10001
),
failed AS MATERIALIZED (
  SELECT FROM :"schema"._private_jobs j
   WHERE 'failed' = ANY (:met_needs) AND j.attempts >= j.max_attempts AND j.locked_at IS NULL ORDER BY j.id LIMIT 10001
)
SELECT 'available' AS status, p.phase, least(count(a.phase), 10000) AS n, CASE WHEN (SELECT count(*) FROM available) > 10000 THEN 'capped' ELSE 'exact' END AS precision
  FROM unnest(ARRAY['ready', 'scheduled', 'blocked']) AS p(phase) LEFT JOIN available a ON a.phase = p.phase
 GROUP BY p.phase
UNION ALL
SELECT 'locked', NULL, CASE WHEN 'locked' = ANY (:met_needs) THEN least(count(*), 10000) END,
       CASE WHEN NOT 'locked' = ANY (:met_needs) THEN 'unknown' WHEN count(*) > 10000 THEN 'capped' ELSE 'exact' END
  FROM locked
UNION ALL
SELECT 'failed', NULL, CASE WHEN 'failed' = ANY (:met_needs) THEN least(count(*), 10000) END,
       CASE WHEN NOT 'failed' = ANY (:met_needs) THEN 'unknown' WHEN count(*) > 10000 THEN 'capped' ELSE 'exact' END
  FROM failed
UNION ALL
SELECT NULL, 'done', NULL, 'unknown'
