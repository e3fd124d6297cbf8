-- Delete a job with its tasks and their timers (by cascade). The lock on the job's row prevents new tasks.
-- Indexes: job_pkey, one on task(job_id), one on task_timer(task_id). Without them the cascade scans both tables.

-- :lock
-- A job is locked when its row and all its tasks are locked.
WITH jobs AS MATERIALIZED (
  SELECT j.job_id, j.xmin::text AS version
    FROM :"schema".job j WHERE j.job_id = ANY (:job_keys)
   ORDER BY j.job_id
     FOR UPDATE SKIP LOCKED
), held AS MATERIALIZED (
  SELECT t.task_id, t.job_id
    FROM :"schema".task t
   WHERE t.job_id = ANY (ARRAY(SELECT job_id FROM jobs))
   ORDER BY t.task_id
     FOR UPDATE SKIP LOCKED
)
SELECT 'job:' || j.job_id AS id, j.version
  FROM jobs j
 WHERE (SELECT count(*) FROM held h WHERE h.job_id = j.job_id) = (SELECT count(*) FROM :"schema".task t WHERE t.job_id = j.job_id)
 ORDER BY j.job_id

-- :change
-- needs: task_by_job timer_by_task
DELETE FROM :"schema".job j
 USING unnest(:ids, :versions) AS seen(id, version)
 WHERE j.job_id = substr(seen.id, 5)::uuid
   AND j.xmin::text = seen.version
RETURNING 'job:' || j.job_id AS id
