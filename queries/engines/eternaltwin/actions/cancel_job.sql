-- Set every unfinished task of a job to Complete without output and delete its timers. The operator decides about the
-- job and not about the state of its tasks, so a task that was polled in the meantime is also cancelled. The task is
-- locked and its revision is incremented, so the result of a running poll is discarded (assumed).
-- Indexes: an index on task(job_id), one on task_timer(task_id).

-- :refused
SELECT 'job:' || j.job_id AS id, 'the job has no unfinished task' AS why
  FROM :"schema".job j WHERE j.job_id = ANY (:job_keys)
   AND NOT EXISTS (SELECT FROM :"schema".task t WHERE t.job_id = j.job_id AND t.status <> 'Complete')

-- :change
-- needs: task_by_job timer_by_task
WITH cancelled AS (
  UPDATE :"schema".task t SET status = 'Complete', revision = t.revision + 1
    FROM unnest(:ids, :versions) AS seen(id, version), :"schema".job j
   WHERE j.job_id = substr(seen.id, 5)::uuid
     AND j.xmin::text = seen.version
     AND t.job_id = j.job_id
     AND t.status <> 'Complete'
  RETURNING t.task_id, t.job_id
), gone AS (
  DELETE FROM :"schema".task_timer m USING cancelled c WHERE m.task_id = c.task_id
)
SELECT DISTINCT 'job:' || c.job_id AS id FROM cancelled c
