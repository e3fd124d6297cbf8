-- Jobs that failed lately, among the newest 1,000 failed ones, or those of the newest 5,000 events.
-- Indexes: one on (id) of failed jobs, if it exists; procrastinate_events_pkey, procrastinate_jobs_pkey,
-- procrastinate_events_job_id_fkey_v1.
WITH newest AS MATERIALIZED (
  SELECT x.job_id, x.type FROM :"schema".procrastinate_events x
   WHERE :ids IS NULL AND NOT 'failed' = ANY (:met_needs) ORDER BY x.id DESC LIMIT 5000
),
asked AS MATERIALIZED (
  (SELECT j.id, j.task_name, j.attempts FROM :"schema".procrastinate_jobs j
    WHERE :ids IS NULL AND 'failed' = ANY (:met_needs) AND j.status = 'failed' ORDER BY j.id DESC LIMIT 1000)
  UNION ALL
  SELECT j.id, j.task_name, j.attempts FROM :"schema".procrastinate_jobs j
   WHERE j.status = 'failed' AND j.id = ANY (CASE WHEN :ids IS NULL THEN ARRAY(SELECT n.job_id FROM newest n WHERE n.type = 'failed') ELSE :job_keys END)
)
, \ir ../parts/times.sql
(SELECT 'job:' || j.id AS id, extract(epoch FROM j.changed)::float8 AS since,
        jsonb_build_object('task', j.task_name, 'failed_at', coalesce(date_trunc('second', j.changed)::text, '?'),
                           'attempts', CASE j.attempts WHEN 1 THEN '1 attempt' ELSE j.attempts || ' attempts' END) AS evidence
   FROM times j
  WHERE j.changed > now() - :failed_lately
  ORDER BY j.id DESC
  LIMIT :limit)
UNION ALL
SELECT NULL, NULL, NULL WHERE (SELECT count(*) FROM asked) = 1000 OR (SELECT count(*) FROM newest) = 5000
