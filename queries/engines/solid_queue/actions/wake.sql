-- Let jobs run now that wait for a time or for a concurrency key that no job holds. The dispatcher makes them ready. A
-- semaphore whose holder is lost is deleted, as the dispatcher does with expired ones: the next job makes it again,
-- with the limit that the application knows.
-- Indexes: solid_queue_jobs_pkey, those on job_id, one on solid_queue_jobs(concurrency_key, id) of unfinished jobs, the
-- one on solid_queue_semaphores(key).

-- :lock
WITH \ir ../parts/locked.sql
SELECT l.id, l.version
  FROM locked l -- a semaphore that another session holds makes the jobs that wait for it locked
 WHERE NOT EXISTS (SELECT FROM :"schema".solid_queue_semaphores m
                    WHERE m.key = l.waits_for
                      AND m.id <> ALL (ARRAY(SELECT k.id FROM :"schema".solid_queue_semaphores k
                                              WHERE k.key = ANY (ARRAY(SELECT w.concurrency_key FROM :"schema".solid_queue_blocked_executions w
                                                                        WHERE w.job_id = ANY (:job_keys)))
                                              ORDER BY k.key FOR UPDATE SKIP LOCKED)))

-- :refused
WITH \ir ../parts/jobs.sql
SELECT 'job:' || j.id AS id, n.why
  FROM jobs j
 CROSS JOIN LATERAL (
   SELECT CASE WHEN j.finished_at IS NOT NULL OR coalesce(j.ready, j.claimed, j.failed) IS NOT NULL OR coalesce(j.scheduled, j.blocked) IS NULL
                 THEN replace(replace(replace('it is ' || j.status, 'is no execution', 'has no execution'), 'is failed', 'has failed'), 'it is claimed', 'a process has claimed it') || ', so it waits for neither a time nor a key'
               WHEN j.blocked IS NULL THEN NULL
               WHEN NOT 'by_key' = ANY (:met_needs) THEN 'whether a job holds its concurrency key is not known: no index starts with solid_queue_jobs.concurrency_key'
               ELSE 'job ' ||
                 (SELECT h.id
                    FROM (SELECT o.id FROM :"schema".solid_queue_jobs o
                           WHERE o.concurrency_key = j.waits_for AND o.finished_at IS NULL ORDER BY o.id LIMIT 1000) AS h
                   WHERE coalesce((SELECT t.job_id FROM :"schema".solid_queue_claimed_executions t WHERE t.job_id = h.id),
                                  (SELECT t.job_id FROM :"schema".solid_queue_ready_executions t WHERE t.job_id = h.id)) IS NOT NULL
                   LIMIT 1)
                 || ' holds its concurrency key ' || j.waits_for || '. To run both: SolidQueue::Job.find(' || j.id || ').tap { |job| job.dispatch_bypassing_concurrency_limits; job.blocked_execution.destroy! }' END AS why) AS n
 WHERE n.why IS NOT NULL

-- :change
WITH \ir ../parts/jobs.sql
, seen AS MATERIALIZED (
  SELECT j.id, j.queue_name, j.priority, j.waits_for AS concurrency_key FROM jobs j
   WHERE j.finished_at IS NULL AND coalesce(j.ready, j.claimed, j.failed) IS NULL AND coalesce(j.scheduled, j.blocked) IS NOT NULL
     AND ('job:' || j.id, j.version) IN (SELECT * FROM unnest(:ids, :versions))
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
