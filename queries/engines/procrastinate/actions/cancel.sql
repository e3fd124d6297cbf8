-- Cancel jobs that have not started, as the engine's procrastinate_cancel_job_v1 does.
-- Indexes: procrastinate_jobs_pkey, procrastinate_events_job_id_fkey_v1.

\ir ../parts/refusals.sql
                    WHEN j.status <> 'todo' THEN 'the job is ' || j.status || ': only a job that has not started can be cancelled' END AS why
          FROM :"schema".procrastinate_jobs j
\ir ../parts/refused.sql

-- :change
UPDATE :"schema".procrastinate_jobs j SET status = 'cancelled'
  FROM unnest(:ids, :versions) AS seen(id, version)
 WHERE j.id = substr(seen.id, 5)::int8 AND j.xmin::text = seen.version AND j.status = 'todo'
RETURNING 'job:' || j.id AS id
