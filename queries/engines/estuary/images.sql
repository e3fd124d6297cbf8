-- The rows that actions on tasks may change: those of the tasks, and of their parents if the tasks are deleted.
-- Index: tasks_pkey.
SELECT 'task:' || t.task_id AS id, t.tableoid AS relation, t.ctid::text AS place
  FROM :"schema".tasks t WHERE t.task_id = ANY (:task_keys)
UNION ALL
SELECT 'task:' || c.task_id, p.tableoid, p.ctid::text
  FROM :"schema".tasks c JOIN :"schema".tasks p ON p.task_id = c.parent_id
 WHERE :action = 'delete' AND c.task_id = ANY (:task_keys) AND NOT p.task_id = ANY (:task_keys)
