-- The rows that actions on jobs may change, and the events that the engine's triggers have inserted in this
-- transaction. All events, and the periodic entries that name the jobs, if these are deleted.
-- Indexes: procrastinate_jobs_pkey, procrastinate_events_job_id_fkey_v1, procrastinate_periodic_defers_job_id_fkey_v1.
SELECT 'job:' || j.id AS id, j.tableoid AS relation, j.ctid::text AS place
  FROM :"schema".procrastinate_jobs j
 WHERE j.id = ANY (:job_keys)
UNION ALL
SELECT 'job:' || e.job_id, e.tableoid, e.ctid::text
  FROM :"schema".procrastinate_events e
 WHERE e.job_id = ANY (:job_keys) AND (:action = 'delete' OR e.xmin = pg_current_xact_id()::xid)
UNION ALL
SELECT 'job:' || d.job_id, d.tableoid, d.ctid::text
  FROM :"schema".procrastinate_periodic_defers d
 WHERE :action = 'delete' AND d.job_id = ANY (:job_keys)
