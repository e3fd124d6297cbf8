-- Jobs without a task.
-- needs: task_by_job, job_by_created
-- needs of ids: task_by_job
-- Indexes: one on job(created_at), for the 5,000 newest jobs older than the threshold; one on task(job_id), once for
-- each job; with ids, job_pkey.
nodes AS (
  SELECT 'job:' || j.job_id AS id, j.job_id AS job, j.created_at
    FROM ((SELECT job_id, created_at FROM :"schema".job
            WHERE :ids IS NULL AND created_at < now() - :empty_job ORDER BY created_at DESC LIMIT 5000)
          UNION ALL
          SELECT job_id, created_at FROM :"schema".job WHERE job_id = ANY (:job_keys) AND created_at < now() - :empty_job) AS j
   WHERE CASE WHEN 'task_scan' = ANY (:met_needs) THEN NOT EXISTS (SELECT FROM :"schema".task t WHERE t.job_id = j.job_id)
              ELSE (SELECT t.job_id FROM :"schema".task t WHERE t.job_id = j.job_id LIMIT 1) IS NULL END
),
more AS (SELECT EXISTS (SELECT FROM :"schema".job WHERE created_at < now() - :empty_job ORDER BY created_at DESC OFFSET 5000) AS more)
