-- Rows of the nodes, with the transaction or MultiXact that locked each row last. A change locks the executions of a job.
-- Index: the primary keys, and the unique indexes on job_id and queue_name.
SELECT 'process:' || p.id AS id, p.tableoid AS relation, p.ctid::text AS place, p.xmax AS locker
  FROM :"schema".solid_queue_processes p WHERE p.id = ANY (:process_keys)
UNION ALL SELECT 'recurring:' || r.key, r.tableoid, r.ctid::text, r.xmax
  FROM :"schema".solid_queue_recurring_tasks r WHERE r.key = ANY (:recurring_keys)
UNION ALL SELECT 'queue:' || u.queue_name, u.tableoid, u.ctid::text, u.xmax
  FROM :"schema".solid_queue_pauses u WHERE u.queue_name = ANY (:queue_keys)
UNION ALL SELECT 'job:' || j.id, j.tableoid, j.ctid::text, j.xmax FROM :"schema".solid_queue_jobs j WHERE j.id = ANY (:job_keys)
UNION ALL SELECT 'job:' || e.job_id, e.tableoid, e.ctid::text, e.xmax
  FROM :"schema".solid_queue_ready_executions e WHERE e.job_id = ANY (:job_keys)
UNION ALL SELECT 'job:' || e.job_id, e.tableoid, e.ctid::text, e.xmax
  FROM :"schema".solid_queue_claimed_executions e WHERE e.job_id = ANY (:job_keys)
UNION ALL SELECT 'job:' || e.job_id, e.tableoid, e.ctid::text, e.xmax
  FROM :"schema".solid_queue_failed_executions e WHERE e.job_id = ANY (:job_keys)
UNION ALL SELECT 'job:' || e.job_id, e.tableoid, e.ctid::text, e.xmax
  FROM :"schema".solid_queue_blocked_executions e WHERE e.job_id = ANY (:job_keys)
UNION ALL SELECT 'job:' || e.job_id, e.tableoid, e.ctid::text, e.xmax
  FROM :"schema".solid_queue_scheduled_executions e WHERE e.job_id = ANY (:job_keys)
