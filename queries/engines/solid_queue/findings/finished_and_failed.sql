-- Finished jobs with a failed execution, newest failure first. Without ids, the newest 2,000 failed executions are
-- checked. Before 1.5, two processes can end one job: its worker, and the one that finds the worker silent.
-- Indexes: solid_queue_failed_executions_pkey, the one on job_id, solid_queue_jobs_pkey.
WITH checked AS MATERIALIZED (
  (SELECT f.id, f.job_id, f.created_at, f.error FROM :"schema".solid_queue_failed_executions f
    WHERE :ids IS NULL ORDER BY f.id DESC LIMIT 2001)
  UNION ALL
  SELECT f.id, f.job_id, f.created_at, f.error FROM :"schema".solid_queue_failed_executions f
   WHERE f.job_id = ANY (:job_keys)
)
(SELECT 'job:' || f.job_id AS id, extract(epoch FROM f.created_at)::float8 AS since,
        jsonb_build_object('class', j.class_name, 'failed', date_trunc('second', f.created_at)::text,
          'finished', date_trunc('second', j.finished_at)::text, 'error', coalesce(
       left(coalesce(nullif(regexp_replace(concat_ws(': ', substring(f.error FROM '"exception_class": ?"((?:[^"\\]|\\.)*)"'),
                                     substring(f.error FROM '"message": ?"((?:[^"\\]|\\.)*)"')), '\\(["\\/])', '\1', 'g'), ''), f.error), 300)
          , 'no error is recorded')) AS evidence
   FROM (SELECT * FROM checked LIMIT 2000) AS f
  CROSS JOIN LATERAL (SELECT b.class_name, b.finished_at FROM :"schema".solid_queue_jobs b WHERE b.id = f.job_id OFFSET 0) AS j
  WHERE j.finished_at IS NOT NULL
  ORDER BY f.id DESC
  LIMIT :limit)
UNION ALL
SELECT NULL, NULL, NULL WHERE :ids IS NULL AND (SELECT count(*) FROM checked) > 2000
