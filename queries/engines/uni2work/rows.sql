-- The rows of queued jobs, cron entries and token buckets, with the transaction or MultiXact that locked each row last.
-- Indexes: queued_job_pkey, cron_last_exec_pkey, token_bucket_pkey.
SELECT 'job:' || j.id AS id, j.tableoid AS relation, j.ctid::text AS place, j.xmax AS locker
  FROM :"schema".queued_job j
 WHERE j.id = ANY (:job_keys)
UNION ALL
SELECT 'cron:' || c.id, c.tableoid, c.ctid::text, c.xmax
  FROM :"schema".cron_last_exec c
 WHERE c.id = ANY (:cron_keys)
UNION ALL
SELECT 'bucket:' || b.ident, b.tableoid, b.ctid::text, b.xmax
  FROM :"schema".token_bucket b
 WHERE b.ident = ANY (:bucket_keys)
