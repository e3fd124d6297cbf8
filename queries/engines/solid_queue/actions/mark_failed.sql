-- Fail jobs whose worker is gone, as the engine's supervisor does with those of a pruned process: the claim becomes a
-- failed execution, and the job's slot of its concurrency key is given back. Only the application knows the limit of a
-- key, so a slot is given back while none is free: that never exceeds the limit.
-- Indexes: solid_queue_jobs_pkey, those on job_id, the one on solid_queue_semaphores(key).

-- :refused
WITH \ir ../parts/jobs.sql
SELECT 'job:' || j.id AS id,
       CASE WHEN j.claimed IS NULL OR j.finished_at IS NOT NULL THEN 'no process has claimed it'
            ELSE 'its process ' || j.process || ' lives: the last heartbeat was at ' || date_trunc('second', j.beat) || ' UTC' END AS why
  FROM jobs j
 WHERE j.claimed IS NULL OR j.finished_at IS NOT NULL OR NOT j.worker_dead

-- :witnesses
WITH \ir ../parts/dead_worker.sql
SELECT * FROM dead_worker

-- :change
WITH \ir ../parts/jobs.sql
, seen AS MATERIALIZED ( -- claimed jobs whose worker is gone
  SELECT j.id, j.queue_name, j.priority, j.concurrency_key FROM jobs j
   WHERE j.claimed IS NOT NULL AND j.finished_at IS NULL AND j.worker_dead
     AND ('job:' || j.id, j.version) IN (SELECT * FROM unnest(:ids, :versions))
),
released AS (
  DELETE FROM :"schema".solid_queue_claimed_executions c USING seen n WHERE c.job_id = n.id RETURNING c.job_id
),
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
