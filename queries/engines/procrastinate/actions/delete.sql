-- Delete jobs that have ended. Their events go with them (ON DELETE CASCADE); the engine's trigger unlinks periodic entries.
-- Indexes: procrastinate_jobs_pkey, procrastinate_events_job_id_fkey_v1, procrastinate_periodic_defers_job_id_fkey_v1.

-- :refused
SELECT 'job:' || j.id AS id, 'the job is ' || j.status || ': only a job that has ended can be deleted' AS why
  FROM :"schema".procrastinate_jobs j
 WHERE j.id = ANY (:job_keys)
   AND j.status NOT IN ('failed', 'succeeded', 'cancelled', 'aborted')

-- :change
DELETE FROM :"schema".procrastinate_jobs j
 USING unnest(:ids, :versions) AS seen(id, version)
 WHERE j.id = substr(seen.id, 5)::int8 AND j.xmin::text = seen.version AND j.status IN ('failed', 'succeeded', 'cancelled', 'aborted')
RETURNING 'job:' || j.id AS id
