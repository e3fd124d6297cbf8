-- Let jobs run now that wait for a time or for a concurrency key that no job holds. The dispatcher makes them ready. A
-- semaphore whose holder is lost is deleted, as the dispatcher does with expired ones: the next job makes it again,
-- with the limit that the application knows.
-- Indexes: solid_queue_jobs_pkey, those on job_id, one on solid_queue_jobs(concurrency_key, id) of unfinished jobs, the
-- one on solid_queue_semaphores(key).

\ir ../parts/lock.sql
   -- A semaphore that another session holds makes the jobs that wait for it locked.
   AND NOT EXISTS (SELECT FROM :"schema".solid_queue_semaphores m
                    WHERE m.key = b.concurrency_key
                      AND m.id <> ALL (ARRAY(SELECT k.id FROM :"schema".solid_queue_semaphores k
                                              WHERE k.key = ANY (ARRAY(SELECT w.concurrency_key FROM :"schema".solid_queue_blocked_executions w
                                                                        WHERE w.job_id = ANY (:job_keys)))
                                              ORDER BY k.key FOR UPDATE SKIP LOCKED)))

-- :refused
SELECT n.id, n.why
  FROM (SELECT 'job:' || j.id AS id,
               CASE WHEN j.finished_at IS NOT NULL OR coalesce(r.id, c.id, f.id) IS NOT NULL OR coalesce(s.id, b.id) IS NULL THEN
\ir ../parts/is.sql
                      || ', so it waits for neither a time nor a key'
                    WHEN b.id IS NULL THEN NULL
                    WHEN NOT 'by_key' = ANY (:met_needs) THEN 'whether a job holds its concurrency key is not known: no index starts with solid_queue_jobs.concurrency_key'
                    ELSE 'job ' ||
\ir ../parts/holder.sql
                      || ' holds its concurrency key ' || b.concurrency_key || '. To run both: SolidQueue::Job.find(' || j.id || ').tap { |job| job.dispatch_bypassing_concurrency_limits; job.blocked_execution.destroy! }'
               END AS why
\ir ../parts/jobs.sql
       ) AS n
 WHERE n.why IS NOT NULL

-- :change
WITH seen AS MATERIALIZED (
  SELECT j.id, j.queue_name, j.priority, b.concurrency_key
\ir ../parts/jobs.sql
   AND j.finished_at IS NULL AND coalesce(r.id, c.id, f.id) IS NULL AND coalesce(s.id, b.id) IS NOT NULL
\ir ../parts/seen.sql
),
freed AS (
  DELETE FROM :"schema".solid_queue_semaphores m USING (SELECT DISTINCT concurrency_key FROM seen) AS n
   WHERE m.key = n.concurrency_key AND m.value <= 0
),
unblocked AS (
  DELETE FROM :"schema".solid_queue_blocked_executions b USING seen n WHERE b.job_id = n.id
),
moved AS (
  INSERT INTO :"schema".solid_queue_scheduled_executions (job_id, queue_name, priority, scheduled_at, created_at)
  SELECT n.id, n.queue_name, n.priority, timezone('UTC', now()), timezone('UTC', now()) FROM seen n WHERE n.concurrency_key IS NOT NULL
),
hastened AS (
  UPDATE :"schema".solid_queue_scheduled_executions s SET scheduled_at = timezone('UTC', now())
    FROM seen n WHERE s.job_id = n.id AND n.concurrency_key IS NULL
)
UPDATE :"schema".solid_queue_jobs j SET scheduled_at = timezone('UTC', now()), updated_at = timezone('UTC', now())
  FROM seen n
 WHERE j.id = n.id
RETURNING 'job:' || j.id AS id
