-- The rows that actions on jobs and queues may change.
image_rows AS (
  SELECT 'job:' || j.id AS id, j.tableoid AS relation, j.ctid::text AS place FROM :"schema".solid_queue_jobs j
   WHERE j.id = ANY (:job_keys)
  UNION ALL
  SELECT 'job:' || r.job_id, r.tableoid, r.ctid::text FROM :"schema".solid_queue_ready_executions r
   WHERE r.job_id = ANY (:job_keys)
  UNION ALL
  SELECT 'job:' || c.job_id, c.tableoid, c.ctid::text FROM :"schema".solid_queue_claimed_executions c
   WHERE c.job_id = ANY (:job_keys)
  UNION ALL
  SELECT 'job:' || f.job_id, f.tableoid, f.ctid::text FROM :"schema".solid_queue_failed_executions f
   WHERE f.job_id = ANY (:job_keys)
  UNION ALL
  SELECT 'job:' || b.job_id, b.tableoid, b.ctid::text FROM :"schema".solid_queue_blocked_executions b
   WHERE b.job_id = ANY (:job_keys)
  UNION ALL
  SELECT 'job:' || s.job_id, s.tableoid, s.ctid::text FROM :"schema".solid_queue_scheduled_executions s
   WHERE s.job_id = ANY (:job_keys)
  UNION ALL
  SELECT 'job:' || e.job_id, e.tableoid, e.ctid::text FROM :"schema".solid_queue_recurring_executions e
   WHERE e.job_id = ANY (:job_keys)
  UNION ALL
  SELECT 'job:' || j.id, m.tableoid, m.ctid::text
    FROM :"schema".solid_queue_jobs j
    JOIN :"schema".solid_queue_semaphores m ON m.key = j.concurrency_key
   WHERE :action IN ('wake', 'mark_failed') AND j.id = ANY (:job_keys)
  UNION ALL
  SELECT 'queue:' || u.queue_name, u.tableoid, u.ctid::text FROM :"schema".solid_queue_pauses u
   WHERE u.queue_name = ANY (:queue_keys)
)
