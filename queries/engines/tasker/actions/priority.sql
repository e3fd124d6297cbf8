-- Set a task's priority. It only affects polling order and weighs less after an hour in one state.

-- :lock
WITH \ir ../parts/locked_tasks.sql
SELECT 'task:' || l.task_uuid AS id, l.version FROM locked_tasks l

-- :refused
WITH \ir ../parts/asked_tasks.sql
SELECT a.id, r.why FROM asked_tasks a, LATERAL (SELECT coalesce(a.why,
  CASE WHEN (:args ->> 'priority')::int NOT BETWEEN -100 AND 100 THEN 'a priority must be from -100 to 100'
       WHEN a.priority = (:args ->> 'priority')::int THEN 'it already has that priority' END) AS why) r
 WHERE r.why IS NOT NULL

-- :change
WITH \ir ../parts/seen.sql
UPDATE :"schema".tasks t SET priority = (:args ->> 'priority')::int, updated_at = now()
  FROM seen n
 WHERE t.task_uuid = n.task_uuid AND n.state NOT IN ('complete', 'cancelled', 'resolved_manually')
RETURNING n.id
