-- The rows of nodes, with the transaction or MultiXact that locked each row last.
-- Indexes: the primary keys, and those on job_id.
WITH jobs AS MATERIALIZED (
  SELECT substr(i, 5)::int8 AS id FROM unnest(:ids) AS i WHERE i ~ '^job:[0-9]{1,18}$'
)
SELECT 'job:' || j.id AS id, j.tableoid AS relation, j.ctid::text AS place, j.xmax AS locker
  FROM :"schema".solid_queue_jobs j WHERE j.id = ANY (ARRAY(SELECT id FROM jobs))
UNION ALL
SELECT 'job:' || r.job_id, r.tableoid, r.ctid::text, r.xmax
  FROM :"schema".solid_queue_ready_executions r WHERE r.job_id = ANY (ARRAY(SELECT id FROM jobs))
UNION ALL
SELECT 'job:' || c.job_id, c.tableoid, c.ctid::text, c.xmax
  FROM :"schema".solid_queue_claimed_executions c WHERE c.job_id = ANY (ARRAY(SELECT id FROM jobs))
UNION ALL
SELECT 'job:' || f.job_id, f.tableoid, f.ctid::text, f.xmax
  FROM :"schema".solid_queue_failed_executions f WHERE f.job_id = ANY (ARRAY(SELECT id FROM jobs))
UNION ALL
SELECT 'job:' || b.job_id, b.tableoid, b.ctid::text, b.xmax
  FROM :"schema".solid_queue_blocked_executions b WHERE b.job_id = ANY (ARRAY(SELECT id FROM jobs))
UNION ALL
SELECT 'job:' || s.job_id, s.tableoid, s.ctid::text, s.xmax
  FROM :"schema".solid_queue_scheduled_executions s WHERE s.job_id = ANY (ARRAY(SELECT id FROM jobs))
UNION ALL
SELECT 'process:' || p.id, p.tableoid, p.ctid::text, p.xmax
  FROM :"schema".solid_queue_processes p
 WHERE p.id = ANY (ARRAY(SELECT substr(i, 9)::int8 FROM unnest(:ids) AS i WHERE i ~ '^process:[0-9]{1,18}$'))
UNION ALL
SELECT 'queue:' || u.queue_name, u.tableoid, u.ctid::text, u.xmax
  FROM :"schema".solid_queue_pauses u
 WHERE u.queue_name = ANY (ARRAY(SELECT substr(i, 7) FROM unnest(:ids) AS i WHERE i LIKE 'queue:%'))
UNION ALL
SELECT 'recurring:' || t.key, t.tableoid, t.ctid::text, t.xmax
  FROM :"schema".solid_queue_recurring_tasks t
 WHERE t.key = ANY (ARRAY(SELECT substr(i, 11) FROM unnest(:ids) AS i WHERE i LIKE 'recurring:%'))
