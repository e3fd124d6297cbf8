-- The rows of jobs and tasks, and of the tasks' timers if an index finds them, with the transaction or MultiXact that
-- locked each row last.
-- Indexes: job_pkey, task_pkey, one on task_timer(task_id); a small task_timer is scanned once.
WITH \ir parts/tasks.sql
SELECT 'job:' || j.job_id AS id, j.tableoid AS relation, j.ctid::text AS place, j.xmax AS locker
  FROM :"schema".job j
 WHERE j.job_id = ANY (ARRAY(SELECT substr(i, 5)::uuid FROM unnest(:ids) AS i WHERE i ~* '^job:[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$'))
UNION ALL
SELECT 'task:' || t.task_id, t.tableoid, t.ctid::text, t.xmax
  FROM tasks t
UNION ALL
SELECT 'task:' || m.task_id, m.tableoid, m.ctid::text, m.xmax
  FROM :"schema".task_timer m
 WHERE 'timer_scan' = ANY (:met_needs)
   AND m.task_id IN (SELECT substr(i, 6)::uuid FROM unnest(:ids) AS i WHERE i LIKE 'task:%')
UNION ALL
SELECT 'task:' || m.task_id, m.tableoid, m.ctid::text, m.xmax
  FROM unnest(:ids) AS i
 CROSS JOIN LATERAL (
       SELECT m.task_id, m.tableoid, m.ctid, m.xmax FROM :"schema".task_timer m
        WHERE m.task_id = CASE WHEN i LIKE 'task:%' THEN substr(i, 6)::uuid END
        LIMIT 20) AS m
 WHERE 'timer_by_task' = ANY (:met_needs) AND NOT 'timer_scan' = ANY (:met_needs)
