WITH
\ir placed_tasks.sql
SELECT 'job:' || j.job_id AS id, j.tableoid AS relation, j.ctid::text AS place, j.xmax AS locker
  FROM :"schema".job j
 WHERE j.job_id = ANY (ARRAY(SELECT w.key FROM wanted w WHERE w.kind = 'job'))
UNION ALL
SELECT 'task:' || t.task_id, t.tableoid, t.ctid::text, t.xmax
  FROM tasks t
