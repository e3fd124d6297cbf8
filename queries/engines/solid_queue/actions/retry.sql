-- Run failed jobs again, and jobs that have lost their execution. Their executions are counted from 0 again. A job
-- without a concurrency key becomes ready. One with a key becomes due now: the limit of a key is known to the
-- application only, so the dispatcher gives the job its slot or blocks it.
-- Indexes: solid_queue_jobs_pkey, and those on job_id.

\ir ../parts/lock.sql

-- :refused
SELECT 'job:' || j.id AS id,
\ir ../parts/is.sql
         || ': only failed and lost jobs can be retried' AS why
\ir ../parts/jobs.sql
   AND (j.finished_at IS NOT NULL OR coalesce(r.id, c.id, b.id, s.id) IS NOT NULL)

-- :change
WITH seen AS MATERIALIZED (
  SELECT j.id, j.queue_name, j.priority, j.concurrency_key
\ir ../parts/jobs.sql
   AND j.finished_at IS NULL AND coalesce(r.id, c.id, b.id, s.id) IS NULL
\ir ../parts/seen.sql
),
revived AS (
  DELETE FROM :"schema".solid_queue_failed_executions f USING seen n WHERE f.job_id = n.id
),
ready AS (
  INSERT INTO :"schema".solid_queue_ready_executions (job_id, queue_name, priority, created_at)
  SELECT n.id, n.queue_name, n.priority, timezone('UTC', now()) FROM seen n WHERE n.concurrency_key IS NULL
),
due AS (
  INSERT INTO :"schema".solid_queue_scheduled_executions (job_id, queue_name, priority, scheduled_at, created_at)
  SELECT n.id, n.queue_name, n.priority, timezone('UTC', now()), timezone('UTC', now()) FROM seen n WHERE n.concurrency_key IS NOT NULL
)
UPDATE :"schema".solid_queue_jobs j
   SET arguments =
\ir ../parts/counted_from_0.sql
       ,
       updated_at = timezone('UTC', now())
  FROM seen n
 WHERE j.id = n.id
RETURNING 'job:' || j.id AS id
