-- Fail jobs whose worker is gone, as the engine's supervisor does with those of a pruned process: the claim becomes a
-- failed execution, and the job's slot of its concurrency key is given back. Only the application knows the limit of a
-- key, so a slot is given back while none is free: that never exceeds the limit.
-- Indexes: solid_queue_jobs_pkey, those on job_id, the one on solid_queue_semaphores(key).

\ir ../parts/lock.sql

\ir ../parts/dead_worker.sql

-- :change
\ir ../parts/unclaimed.sql
signalled AS (
  UPDATE :"schema".solid_queue_semaphores m SET value = m.value + 1, updated_at = timezone('UTC', now())
    FROM (SELECT DISTINCT n.concurrency_key FROM seen n JOIN released d ON d.job_id = n.id) AS n
   WHERE m.key = n.concurrency_key AND m.value <= 0
),
failed AS (
  INSERT INTO :"schema".solid_queue_failed_executions (job_id, error, created_at)
  SELECT d.job_id, json_build_object('exception_class', 'ManuallyMarkedAsFailed', 'message', coalesce(nullif(:reason, ''), 'Manually marked as failed'),
                                     'backtrace', json_build_array())::text, timezone('UTC', now())
    FROM released d
      ON CONFLICT (job_id) DO NOTHING
)
SELECT 'job:' || d.job_id AS id FROM released d
