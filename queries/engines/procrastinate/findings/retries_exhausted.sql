-- Jobs that failed lately, among the newest 1,000 failed ones.
-- needs: failed
-- needs of ids: none
-- Indexes: one on (id) of failed jobs, procrastinate_jobs_pkey, procrastinate_events_job_id_fkey_v1.
WITH failed AS MATERIALIZED (
  (SELECT j.id, j.task_name, j.attempts FROM :"schema".procrastinate_jobs j
    WHERE :ids IS NULL AND j.status = 'failed' ORDER BY j.id DESC LIMIT 1000)
  UNION ALL
  SELECT j.id, j.task_name, j.attempts FROM :"schema".procrastinate_jobs j
   WHERE j.status = 'failed' AND j.id = ANY (:job_keys)
)
(SELECT 'job:' || j.id AS id, extract(epoch FROM e.changed)::float8 AS since,
        jsonb_build_object('task', j.task_name, 'failed_at', coalesce(date_trunc('second', e.changed)::text, '?'),
                           'attempts', CASE j.attempts WHEN 1 THEN '1 attempt' ELSE j.attempts || ' attempts' END) AS evidence
   FROM failed j
\ir ../parts/times.sql
  WHERE e.changed > now() - :failed_lately
  ORDER BY j.id DESC
  LIMIT :limit)
UNION ALL
SELECT NULL, NULL, NULL WHERE (SELECT count(*) FROM failed) = 1000
