-- Give jobs back whose worker is gone, as the engine does when a worker ends: the claim becomes a ready execution. A
-- job with a concurrency key keeps its slot. The claim's row is what a worker locks when it ends a job.
-- Indexes: solid_queue_jobs_pkey, and those on job_id.

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
ready AS (
  INSERT INTO :"schema".solid_queue_ready_executions (job_id, queue_name, priority, created_at)
  SELECT n.id, n.queue_name, n.priority, timezone('UTC', now()) FROM seen n JOIN released d ON d.job_id = n.id
      ON CONFLICT (job_id) DO NOTHING
)
SELECT 'job:' || d.job_id AS id FROM released d
