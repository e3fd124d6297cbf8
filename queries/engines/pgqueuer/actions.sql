-- Sections of all actions whose files do not have them.
-- Indexes: pgqueuer_pkey, pgqueuer_log_job_id_status.

-- :rows
SELECT 'job:' || j.id AS id, :'pgqueuer' AS "table", j.id::text AS key, j.ctid::text AS place, row_to_json(j) AS row
  FROM :"schema".:"pgqueuer" j
 WHERE j.id = ANY (:job_keys)

-- :rows
-- Log entries that this transaction has inserted.
SELECT 'job:' || l.job_id AS id, :'pgqueuer_log' AS "table", l.id::text AS key, l.ctid::text AS place, row_to_json(l) AS row
  FROM :"schema".:"pgqueuer_log" l
 WHERE l.job_id = ANY (:job_keys) AND l.xmin = pg_current_xact_id()::xid
