-- Delete jobs that do not run, as the engine's discard does. Their executions, and the rows that say which recurring
-- task or batch they belong to, go with them.
-- Indexes: solid_queue_jobs_pkey, and those on job_id.

\ir ../parts/lock.sql

-- :refused
SELECT n.id, n.why
  FROM (SELECT 'job:' || j.id AS id,
               CASE WHEN j.finished_at IS NOT NULL THEN 'it is finished'
                    WHEN c.id IS NOT NULL THEN 'a process has claimed it, and the engine cannot stop it'
                    WHEN r.id IS NOT NULL AND j.concurrency_key IS NOT NULL
                      THEN 'it holds a slot of the concurrency key ' || j.concurrency_key || ', whose limit only the application knows. Run there: SolidQueue::Job.find(' || j.id || ').discard'
               END AS why
\ir ../parts/jobs.sql
       ) AS n
 WHERE n.why IS NOT NULL

-- :change
WITH seen AS MATERIALIZED (
  SELECT j.id
\ir ../parts/jobs.sql
   AND j.finished_at IS NULL AND c.id IS NULL AND NOT (r.id IS NOT NULL AND j.concurrency_key IS NOT NULL)
\ir ../parts/seen.sql
)
DELETE FROM :"schema".solid_queue_jobs j USING seen n WHERE j.id = n.id
RETURNING 'job:' || j.id AS id
