SELECT 'job:' || j.job_id AS id, j.tableoid AS relation, j.ctid::text AS place, j.xmax AS locker
  FROM :"schema".job j
 WHERE j.job_id = ANY (ARRAY(SELECT substr(i, 5)::uuid FROM unnest(:ids) AS i WHERE i LIKE 'job:%'))
UNION ALL
SELECT 'task:' || t.task_id, t.tableoid, t.ctid::text, t.xmax
  FROM :"schema".task t
 WHERE t.task_id = ANY (ARRAY(SELECT substr(i, 6)::uuid FROM unnest(:ids) AS i WHERE i LIKE 'task:%'))
