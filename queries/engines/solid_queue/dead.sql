-- Failed jobs, newest first. A finished job whose failed execution was left behind is none.
-- cursor: id of the last execution of the previous page, or NULL
-- Indexes: solid_queue_failed_executions_pkey, and the one on job_id.
SELECT 'job:' || f.job_id AS id, f.id::text AS cursor, CASE WHEN f.created_at > timezone('UTC', now()) - :failed_lately THEN 5 ELSE 3 END::int8 AS severity,
       extract(epoch FROM f.created_at)::float8 AS since, f.class_name::text AS cause,
       left(coalesce(nullif(regexp_replace(concat_ws(': ', substring(f.error FROM '"exception_class": ?"((?:[^"\\]|\\.)*)"'),
                                     substring(f.error FROM '"message": ?"((?:[^"\\]|\\.)*)"')), '\\(["\\/])', '\1', 'g'), ''), f.error), 300) AS error,
       NULL::text AS was, NULL::text AS is_now
  FROM (SELECT f.*, j.class_name
          FROM (SELECT * FROM :"schema".solid_queue_failed_executions f
                 WHERE :ids IS NULL AND (:cursor IS NULL OR f.id < :cursor::text::int8)
                   AND NOT EXISTS (SELECT FROM :"schema".solid_queue_jobs d WHERE d.id = f.job_id AND d.finished_at IS NOT NULL)
                 ORDER BY f.id DESC LIMIT :limit) AS f
          JOIN :"schema".solid_queue_jobs j ON j.id = f.job_id AND j.finished_at IS NULL
        UNION ALL
        SELECT f.*, j.class_name
          FROM :"schema".solid_queue_failed_executions f
          JOIN :"schema".solid_queue_jobs j ON j.id = f.job_id AND j.finished_at IS NULL
         WHERE f.job_id = ANY (:job_keys) AND (:cursor IS NULL OR f.id < :cursor::text::int8)) AS f
 ORDER BY f.id DESC
 LIMIT :limit
