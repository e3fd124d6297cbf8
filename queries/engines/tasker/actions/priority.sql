-- Set a task's priority. It only affects polling order and weighs less after an hour in one state.

\ir ../parts/lock_task.sql

\ir ../parts/task_refusals.sql
                WHEN (:args ->> 'priority')::int NOT BETWEEN -100 AND 100 THEN 'a priority must be from -100 to 100'
                WHEN t.priority = (:args ->> 'priority')::int THEN 'it already has that priority' END AS why
\ir ../parts/refused_tasks.sql

\ir ../parts/change_seen.sql
UPDATE :"schema".tasks t SET priority = (:args ->> 'priority')::int, updated_at = now()
  FROM seen n
 WHERE t.task_uuid = n.task_uuid
RETURNING n.id
