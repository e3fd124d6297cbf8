-- Set a task's priority. It only affects polling order and weighs less after an hour in one state.
-- $1 ids text[]: local ids
-- $2 versions text[]: version of each node that the operator saw
-- $5 args jsonb: priority (-100 to 100)
-- Indexes: tasks_pkey, the unique index on current task transitions.

\ir ../parts/lock_task.sql

-- :refused
SELECT r.id, r.why
  FROM (
    SELECT i AS id,
           CASE
\ir ../parts/task_refusals.sql
                WHEN ($5::jsonb ->> 'priority')::int NOT BETWEEN -100 AND 100 THEN 'a priority must be from -100 to 100'
                WHEN t.priority = ($5::jsonb ->> 'priority')::int THEN 'it already has that priority' END AS why
\ir ../parts/asked_tasks.sql
      ) AS r
 WHERE r.why IS NOT NULL

-- :rows
SELECT 'task:' || t.task_uuid AS id, 'tasks' AS "table", t.task_uuid::text AS key, to_jsonb(t) - 'context' AS row
  FROM :"schema".tasks t
 WHERE t.task_uuid = ANY (ARRAY(SELECT substr(i, 6)::uuid FROM unnest($1::text[]) AS i))

-- :change
WITH
\ir ../parts/seen.sql
UPDATE :"schema".tasks t SET priority = ($5::jsonb ->> 'priority')::int, updated_at = now()
  FROM seen n
 WHERE t.task_uuid = n.task_uuid
RETURNING n.id
