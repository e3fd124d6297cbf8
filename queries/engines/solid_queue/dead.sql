-- Failed jobs, newest first. A finished job whose failed execution was left behind is none.
-- cursor: id of the last execution of the previous page, or NULL
-- Indexes: solid_queue_failed_executions_pkey, and the one on job_id.
SELECT d.* FROM (
SELECT 'job:' || f.job_id AS id, f.id::text AS cursor, CASE WHEN f.created_at > timezone('UTC', now()) - :failed_lately THEN 5 ELSE 3 END::int8 AS severity, extract(epoch FROM f.created_at)::float8 AS since,
       j.class_name::text AS cause,
\ir parts/error.sql
         AS error, NULL::text AS was, NULL::text AS is_now
  FROM (SELECT * FROM :"schema".solid_queue_failed_executions f
         WHERE :ids IS NULL AND (:cursor IS NULL OR f.id < :cursor::text::int8)
           AND NOT EXISTS (SELECT FROM :"schema".solid_queue_jobs d WHERE d.id = f.job_id AND d.finished_at IS NOT NULL)
         ORDER BY f.id DESC LIMIT :limit) AS f
  JOIN :"schema".solid_queue_jobs j ON j.id = f.job_id AND j.finished_at IS NULL
UNION ALL
SELECT 'job:' || f.job_id, f.id::text, CASE WHEN f.created_at > timezone('UTC', now()) - :failed_lately THEN 5 ELSE 3 END::int8, extract(epoch FROM f.created_at)::float8, j.class_name,
\ir parts/error.sql
       , NULL, NULL
  FROM :"schema".solid_queue_failed_executions f
  JOIN :"schema".solid_queue_jobs j ON j.id = f.job_id AND j.finished_at IS NULL
 WHERE f.job_id = ANY (:job_keys)
   AND (:cursor IS NULL OR f.id < :cursor::text::int8)
) AS d
 ORDER BY d.cursor::int8 DESC
 LIMIT :limit
