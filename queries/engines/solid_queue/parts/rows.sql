-- :rows
SELECT 'job:' || j.id AS id, 'solid_queue_jobs' AS "table", j.id::text AS key, j.ctid::text AS place, row_to_json(j) AS row
  FROM :"schema".solid_queue_jobs j
 WHERE j.id = ANY (:job_keys)
UNION ALL
SELECT 'job:' || r.job_id, 'solid_queue_ready_executions', r.id::text, r.ctid::text, row_to_json(r)
  FROM :"schema".solid_queue_ready_executions r
 WHERE r.job_id = ANY (:job_keys)
UNION ALL
SELECT 'job:' || c.job_id, 'solid_queue_claimed_executions', c.id::text, c.ctid::text, row_to_json(c)
  FROM :"schema".solid_queue_claimed_executions c
 WHERE c.job_id = ANY (:job_keys)
UNION ALL
SELECT 'job:' || f.job_id, 'solid_queue_failed_executions', f.id::text, f.ctid::text, row_to_json(f)
  FROM :"schema".solid_queue_failed_executions f
 WHERE f.job_id = ANY (:job_keys)
UNION ALL
SELECT 'job:' || b.job_id, 'solid_queue_blocked_executions', b.id::text, b.ctid::text, row_to_json(b)
  FROM :"schema".solid_queue_blocked_executions b
 WHERE b.job_id = ANY (:job_keys)
UNION ALL
SELECT 'job:' || s.job_id, 'solid_queue_scheduled_executions', s.id::text, s.ctid::text, row_to_json(s)
  FROM :"schema".solid_queue_scheduled_executions s
 WHERE s.job_id = ANY (:job_keys)
