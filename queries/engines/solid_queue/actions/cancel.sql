-- Delete jobs that do not run, as the engine's discard does. Their executions, and the rows that say which recurring
-- task or batch they belong to, go with them.
-- Indexes: solid_queue_jobs_pkey, and those on job_id.

-- :refused
WITH \ir ../parts/jobs.sql
SELECT 'job:' || j.id AS id, n.why
  FROM jobs j
 CROSS JOIN LATERAL (
   SELECT CASE WHEN j.finished_at IS NOT NULL THEN 'it is finished'
               WHEN j.claimed IS NOT NULL THEN 'a process has claimed it, and the engine cannot stop it'
               WHEN j.ready IS NOT NULL AND j.concurrency_key IS NOT NULL
                 THEN 'it holds a slot of the concurrency key ' || j.concurrency_key || ', whose limit only the application knows. Run there: SolidQueue::Job.find(' || j.id || ').discard' END AS why) AS n
 WHERE n.why IS NOT NULL

-- :change
WITH \ir ../parts/jobs.sql
, seen AS MATERIALIZED (
  SELECT j.id FROM jobs j
   WHERE j.finished_at IS NULL AND j.claimed IS NULL AND NOT (j.ready IS NOT NULL AND j.concurrency_key IS NOT NULL)
     AND ('job:' || j.id, j.version) IN (SELECT * FROM unnest(:ids, :versions))
)
DELETE FROM :"schema".solid_queue_jobs j USING seen n WHERE j.id = n.id
RETURNING 'job:' || j.id AS id
