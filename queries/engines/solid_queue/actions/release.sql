-- Give jobs back whose worker is gone, as the engine does when a worker ends: the claim becomes a ready execution. A
-- job with a concurrency key keeps its slot. The claim's row is what a worker locks when it ends a job.
-- Indexes: solid_queue_jobs_pkey, and those on job_id.

\ir ../parts/lock.sql

\ir ../parts/dead_worker.sql

-- :change
\ir ../parts/unclaimed.sql
ready AS (
  INSERT INTO :"schema".solid_queue_ready_executions (job_id, queue_name, priority, created_at)
  SELECT n.id, n.queue_name, n.priority, timezone('UTC', now()) FROM seen n JOIN released d ON d.job_id = n.id
      ON CONFLICT (job_id) DO NOTHING
)
SELECT 'job:' || d.job_id AS id FROM released d
