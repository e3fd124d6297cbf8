-- Delete jobs that have ended. Their events go with them (ON DELETE CASCADE); the engine's trigger unlinks periodic entries.
-- Indexes: procrastinate_jobs_pkey, procrastinate_events_job_id_fkey_v1, procrastinate_periodic_defers_job_id_fkey_v1.

-- :refused
SELECT 'job:' || j.id AS id, 'the job is ' || j.status || ': only a job that has ended can be deleted' AS why
  FROM :"schema".procrastinate_jobs j
 WHERE j.id = ANY (:job_keys)
   AND j.status NOT IN ('failed', 'succeeded', 'cancelled', 'aborted')

-- :rows
SELECT 'job:' || j.id AS id, 'procrastinate_jobs' AS "table", j.id::text AS key, j.ctid::text AS place, row_to_json(j) AS row
  FROM :"schema".procrastinate_jobs j
 WHERE j.id = ANY (:job_keys)

-- :rows
SELECT 'job:' || e.job_id AS id, 'procrastinate_events' AS "table", e.id::text AS key, e.ctid::text AS place, row_to_json(e) AS row
  FROM :"schema".procrastinate_events e
 WHERE e.job_id = ANY (:job_keys)

-- :rows
-- Periodic entries that name the jobs, or named them before the change.
SELECT n.id, 'procrastinate_periodic_defers' AS "table", p.id::text AS key, p.ctid::text AS place, row_to_json(p) AS row
  FROM (SELECT 'job:' || d.job_id AS id, d.id AS entry
          FROM :"schema".procrastinate_periodic_defers d
         WHERE :copied IS NULL AND d.job_id = ANY (:job_keys)
        UNION ALL
        SELECT c ->> 0, (c ->> 2)::int8
          FROM jsonb_array_elements(:copied) AS c
         WHERE c ->> 1 = 'procrastinate_periodic_defers' AND c ->> 0 = ANY (:ids)) AS n
  JOIN :"schema".procrastinate_periodic_defers p ON p.id = n.entry

-- :change
DELETE FROM :"schema".procrastinate_jobs j
 USING unnest(:ids, :versions) AS seen(id, version)
 WHERE j.id = substr(seen.id, 5)::int8 AND j.xmin::text = seen.version AND j.status IN ('failed', 'succeeded', 'cancelled', 'aborted')
RETURNING 'job:' || j.id AS id
