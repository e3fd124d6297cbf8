-- Failed jobs, newest first. The application has retried them as often as it does.
-- A finished job whose failed execution was left behind is not failed.
-- Indexes: solid_queue_failed_executions_pkey, the one on job_id.
SELECT 'job:' || f.job_id AS id, extract(epoch FROM f.created_at)::float8 AS since,
       jsonb_build_object('class', j.class_name, 'failed', date_trunc('second', f.created_at)::text, 'error', coalesce(
       left(coalesce(nullif(regexp_replace(concat_ws(': ', substring(f.error FROM '"exception_class": ?"((?:[^"\\]|\\.)*)"'),
                                     substring(f.error FROM '"message": ?"((?:[^"\\]|\\.)*)"')), '\\(["\\/])', '\1', 'g'), ''), f.error), 300)
         , 'no error is recorded')) AS evidence,
       CASE WHEN f.created_at > timezone('UTC', now()) - :failed_lately THEN 5 ELSE 3 END::int8 AS severity
  FROM ((SELECT * FROM :"schema".solid_queue_failed_executions f
          WHERE :ids IS NULL
            AND NOT EXISTS (SELECT FROM :"schema".solid_queue_jobs d WHERE d.id = f.job_id AND d.finished_at IS NOT NULL)
          ORDER BY f.id DESC LIMIT :limit)
        UNION ALL
        SELECT * FROM :"schema".solid_queue_failed_executions f
         WHERE f.job_id = ANY (:job_keys)) AS f
  JOIN :"schema".solid_queue_jobs j ON j.id = f.job_id AND j.finished_at IS NULL
 ORDER BY f.id DESC
 LIMIT :limit
