-- The rows that actions on jobs may change, and the log entries that this transaction has inserted.
-- Indexes: pgqueuer_pkey, pgqueuer_log_job_id_status.
SELECT 'job:' || j.id AS id, j.tableoid AS relation, j.ctid::text AS place
  FROM :"schema".:"pgqueuer" j
 WHERE j.id = ANY (:job_keys)
UNION ALL
SELECT 'job:' || l.job_id, l.tableoid, l.ctid::text
  FROM :"schema".:"pgqueuer_log" l
 WHERE l.job_id = ANY (:job_keys) AND l.xmin = pg_current_xact_id()::xid
