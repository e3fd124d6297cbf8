-- Jobs without a task.
-- needs: task_by_job, job_by_created
-- needs of ids: task_by_job
-- Indexes: one on job(created_at), for the 5,000 newest jobs older than the threshold; one on task(job_id), once for each
-- job; with ids, job_pkey.
(SELECT 'job:' || j.job_id AS id, extract(epoch FROM j.created_at)::float8 AS since,
        jsonb_build_object('created_at', date_trunc('second', j.created_at)::text,
                           'initial_state', (SELECT octet_length(o.initial_state) FROM :"schema".job o WHERE o.job_id = j.job_id) || ' bytes') AS evidence
   FROM ((SELECT job_id, created_at FROM :"schema".job
           WHERE :ids IS NULL AND created_at < now() - :empty_job
           ORDER BY created_at DESC LIMIT 5000)
         UNION ALL
         SELECT job_id, created_at FROM :"schema".job
          WHERE job_id = ANY (:job_keys)
            AND created_at < now() - :empty_job) AS j
  WHERE CASE WHEN 'task_scan' = ANY (:met_needs) THEN NOT EXISTS (SELECT FROM :"schema".task t WHERE t.job_id = j.job_id)
             ELSE (SELECT t.job_id FROM :"schema".task t WHERE t.job_id = j.job_id LIMIT 1) IS NULL END
  ORDER BY j.created_at, j.job_id
  LIMIT :limit)
UNION ALL
SELECT NULL, NULL, NULL WHERE :ids IS NULL
   AND EXISTS (SELECT FROM :"schema".job WHERE created_at < now() - :empty_job ORDER BY created_at DESC OFFSET 5000)
