-- The rows of tasks, with the transaction or MultiXact that locked each row last.
-- $1 ids text[]: local ids
-- Index: tasks_pkey.
SELECT 'task:' || t.task_id AS id, t.tableoid AS relation, t.ctid::text AS place, t.xmax AS locker
  FROM :"schema".tasks t
 WHERE t.task_id = ANY (ARRAY(SELECT substr(i, 6)::macaddr8 FROM unnest($1::text[]) AS i WHERE i LIKE 'task:%'))
