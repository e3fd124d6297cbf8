-- The rows of the requested jobs and tasks, with the transaction or MultiXact that locked each row last.
-- Indexes: job_pkey, task_pkey.
WITH \ir parts/tasks.sql
SELECT 'job:' || j.job_id AS id, j.tableoid AS relation, j.ctid::text AS place, j.xmax AS locker
  FROM :"schema".job j
 WHERE j.job_id = ANY (ARRAY(SELECT substr(i, 5)::uuid FROM unnest(:ids) AS i WHERE i ~* '^job:[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$'))
UNION ALL
SELECT 'task:' || t.task_id, t.tableoid, t.ctid::text, t.xmax
  FROM tasks t
