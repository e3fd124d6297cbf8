-- title: Error and backtrace
-- kinds: job
-- Index: the one on solid_queue_failed_executions(job_id).
SELECT substring(convert_to(f.error, 'UTF8') FOR :bytes) AS payload, octet_length(f.error)::int8 AS size
  FROM :"schema".solid_queue_failed_executions f
 WHERE f.job_id = substr(:id, 5)::int8 AND f.error IS NOT NULL
