-- The first blocked job of each of at most 200 concurrency keys, with a job that holds the key. Of each key, the first
-- 1,000 unfinished jobs are searched for it.
-- needs: by_key
-- Indexes: one on solid_queue_blocked_executions(concurrency_key, priority, job_id), as a loose index scan; one on
-- solid_queue_jobs(concurrency_key, id) of unfinished jobs; the one on solid_queue_semaphores(key).
leaps AS (
  (SELECT b.concurrency_key FROM :"schema".solid_queue_blocked_executions b WHERE :ids IS NULL ORDER BY b.concurrency_key LIMIT 1)
  UNION ALL
  SELECT (SELECT b.concurrency_key FROM :"schema".solid_queue_blocked_executions b WHERE b.concurrency_key > l.concurrency_key
           ORDER BY b.concurrency_key LIMIT 1)
    FROM leaps l WHERE l.concurrency_key IS NOT NULL
),
keys AS MATERIALIZED (
  (SELECT l.concurrency_key FROM leaps l WHERE l.concurrency_key IS NOT NULL LIMIT 201)
  UNION ALL
  SELECT DISTINCT b.concurrency_key FROM :"schema".solid_queue_blocked_executions b
   WHERE b.job_id = ANY (:job_keys)
),
nodes AS MATERIALIZED (
  SELECT 'job:' || b.job_id AS id, b.concurrency_key, b.created_at, b.expires_at, m.value AS semaphore,
         (SELECT h.id
            FROM (SELECT o.id FROM :"schema".solid_queue_jobs o
                   WHERE o.concurrency_key = b.concurrency_key AND o.finished_at IS NULL ORDER BY o.id LIMIT 1000) AS h
           WHERE coalesce((SELECT t.job_id FROM :"schema".solid_queue_claimed_executions t WHERE t.job_id = h.id),
                          (SELECT t.job_id FROM :"schema".solid_queue_ready_executions t WHERE t.job_id = h.id)) IS NOT NULL
           LIMIT 1)
         AS holder,
         (SELECT CASE count(*) WHEN 1 THEN '1 job waits' WHEN 1000 THEN '1,000 or more jobs wait' ELSE count(*) || ' jobs wait' END
            FROM (SELECT FROM :"schema".solid_queue_blocked_executions o WHERE o.concurrency_key = k.concurrency_key LIMIT 1000) AS w) AS waiting
    FROM (SELECT k.concurrency_key FROM keys k LIMIT 200) AS k
   CROSS JOIN LATERAL (SELECT * FROM :"schema".solid_queue_blocked_executions b
                        WHERE b.concurrency_key = k.concurrency_key ORDER BY b.priority, b.job_id LIMIT 1) AS b
    LEFT JOIN LATERAL (SELECT m.value FROM :"schema".solid_queue_semaphores m WHERE m.key = k.concurrency_key LIMIT 1) AS m ON true
),
more AS (SELECT (SELECT count(*) FROM keys) > 200 AS more)
