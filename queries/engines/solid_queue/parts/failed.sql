-- Failed jobs: those asked for, or the newest. A finished job whose failed execution was left behind is not failed.
-- Indexes: solid_queue_failed_executions_pkey, the one on job_id.
failed AS MATERIALIZED (
  SELECT j.id, j.queue_name, j.class_name, f.error, f.created_at AS failed_at
    FROM ((SELECT * FROM :"schema".solid_queue_failed_executions f
            WHERE :ids IS NULL
              AND NOT EXISTS (SELECT FROM :"schema".solid_queue_jobs d WHERE d.id = f.job_id AND d.finished_at IS NOT NULL)
            ORDER BY f.id DESC LIMIT :limit)
          UNION ALL
          SELECT * FROM :"schema".solid_queue_failed_executions f WHERE f.job_id = ANY (:job_keys)) AS f
    JOIN :"schema".solid_queue_jobs j ON j.id = f.job_id AND j.finished_at IS NULL
)
