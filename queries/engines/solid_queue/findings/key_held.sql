-- The first blocked job of each concurrency key that another job holds.
-- needs: by_key
-- Indexes: one on solid_queue_blocked_executions(concurrency_key, priority, job_id), as a loose index scan; one on
-- solid_queue_jobs(concurrency_key, id) of unfinished jobs; the one on solid_queue_semaphores(key).
\ir ../parts/blocked.sql
(SELECT 'job:' || j.job_id AS id, extract(epoch FROM j.created_at)::float8 AS since,
        jsonb_build_object('key', j.concurrency_key, 'waiting', j.waiting, 'age', date_trunc('second', timezone('UTC', now()) - j.created_at)::text, 'holder', j.holder) AS evidence
   FROM judged j
  WHERE j.holder IS NOT NULL AND j.created_at < timezone('UTC', now()) - :blocked
  ORDER BY j.created_at, j.job_id
  LIMIT :page)
UNION ALL
SELECT NULL, NULL, NULL WHERE (SELECT count(*) FROM keys) > 200
