-- A task's priority, which orders discovery alone and loses its weight after an hour in a state.
-- $1 ids text[]: local ids
-- $2 versions text[]: version of each node that the operator saw
-- $5 args jsonb: priority (-100 to 100)
-- Indexes: tasks_pkey, the unique one on current task transitions.

\ir ../parts/lock_task.sql

-- :refused
SELECT r.id, r.why
  FROM (
    SELECT i AS id,
           CASE WHEN x.to_state IS NULL THEN 'none of its transitions is the current one: mend that by hand first'
                WHEN x.to_state IN ('complete', 'cancelled', 'resolved_manually') THEN 'it is ' || x.to_state || ': it has ended'
                WHEN ($5::jsonb ->> 'priority')::int NOT BETWEEN -100 AND 100 THEN 'a priority is from -100 to 100'
                WHEN t.priority = ($5::jsonb ->> 'priority')::int THEN 'it has that priority' END AS why
      FROM unnest($1::text[]) AS i
      JOIN :"schema".tasks t ON t.task_uuid = substr(i, 6)::uuid
      LEFT JOIN :"schema".task_transitions x ON x.task_uuid = t.task_uuid AND x.most_recent) AS r
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
