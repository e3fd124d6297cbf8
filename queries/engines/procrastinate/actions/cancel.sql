-- Cancel jobs that have not started, as the engine's procrastinate_cancel_job_v1 does.
-- Indexes: procrastinate_jobs_pkey, procrastinate_events_job_id_fkey_v1.

\ir ../parts/lock.sql

-- :refused
SELECT r.id, r.why
  FROM (SELECT 'job:' || j.id AS id,
               CASE WHEN j.status <> 'todo' THEN 'the job is ' || j.status || ': only a job that has not started can be cancelled' END AS why
          FROM :"schema".procrastinate_jobs j
         WHERE j.id = ANY (ARRAY(SELECT substr(i, 5)::int8 FROM unnest(:ids) AS i))) AS r
 WHERE r.why IS NOT NULL

\ir ../parts/rows.sql

-- :change
UPDATE :"schema".procrastinate_jobs j SET status = 'cancelled'
  FROM unnest(:ids, :versions) AS seen(id, version)
 WHERE j.id = substr(seen.id, 5)::int8 AND j.xmin::text = seen.version AND j.status = 'todo'
RETURNING 'job:' || j.id AS id
