-- Sections of all actions whose files do not have them.
-- Indexes: procrastinate_jobs_pkey, procrastinate_events_job_id_fkey_v1.

-- :rows
SELECT 'job:' || j.id AS id, 'procrastinate_jobs' AS "table", j.id::text AS key, j.ctid::text AS place, row_to_json(j) AS row
  FROM :"schema".procrastinate_jobs j
 WHERE j.id = ANY (:job_keys)

-- :rows
-- Events that the engine's triggers have inserted in this transaction.
SELECT 'job:' || e.job_id AS id, 'procrastinate_events' AS "table", e.id::text AS key, e.ctid::text AS place, row_to_json(e) AS row
  FROM :"schema".procrastinate_events e
 WHERE e.job_id = ANY (:job_keys) AND e.xmin = pg_current_xact_id()::xid
