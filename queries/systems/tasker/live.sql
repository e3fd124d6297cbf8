-- Everything unfinished: tasks by priority as the engine takes them, the newest first within one; then steps that are
-- not processed, the oldest first. Looks at 20,000 of each from the cursor on: what has failed or was cancelled keeps
-- its place among the open ones for ever. A row without an id: there may be others.
-- $1 cursor text: t|priority|task_uuid or s||workflow_step_uuid of the last row of the page before, or NULL
-- $2 page int: how many at most
-- Indexes: idx_tasks_active_with_priority_covering backwards, idx_workflow_steps_active_operations, and the state_lookup
-- of each, index-only.
WITH open_tasks AS (
  SELECT t.task_uuid, t.priority
    FROM tasks t
   WHERE t.complete = false
     AND ($1::text IS NULL
          OR ($1::text LIKE 't|%' AND (t.priority, t.task_uuid) < (split_part($1::text, '|', 2)::int, split_part($1::text, '|', 3)::uuid)))
   ORDER BY t.priority DESC, t.task_uuid DESC
   LIMIT 20000
),
tasks_ AS (
  SELECT 1 AS part, 'task:' || o.task_uuid AS id, 't|' || o.priority || '|' || o.task_uuid AS cursor, row_number() OVER () AS n
    FROM (SELECT o.task_uuid, o.priority
            FROM open_tasks o
            LEFT JOIN LATERAL (SELECT x.to_state FROM task_transitions x WHERE x.task_uuid = o.task_uuid AND x.most_recent OFFSET 0) AS x ON true
           WHERE x.to_state IS NULL OR x.to_state NOT IN ('cancelled', 'resolved_manually', 'error', 'complete')
           LIMIT $2::int) AS o
),
open_steps AS (
  SELECT s.workflow_step_uuid
    FROM workflow_steps s
   WHERE s.processed = false
     AND ($1::text IS NULL OR $1::text LIKE 't|%' OR s.workflow_step_uuid > split_part($1::text, '|', 3)::uuid)
   ORDER BY s.workflow_step_uuid
   LIMIT 20000
),
steps_ AS (
  SELECT 2 AS part, 'step:' || o.workflow_step_uuid AS id, 's||' || o.workflow_step_uuid AS cursor, row_number() OVER () AS n
    FROM (SELECT o.workflow_step_uuid
            FROM open_steps o
            LEFT JOIN LATERAL (SELECT x.to_state FROM workflow_step_transitions x
                                WHERE x.workflow_step_uuid = o.workflow_step_uuid AND x.most_recent OFFSET 0) AS x ON true
           WHERE x.to_state IS NULL OR x.to_state NOT IN ('cancelled', 'resolved_manually', 'complete')
           LIMIT $2::int) AS o
)
(SELECT u.id, u.cursor
  FROM (SELECT * FROM tasks_ UNION ALL SELECT * FROM steps_) AS u
 ORDER BY u.part, u.n
 LIMIT $2::int)
UNION ALL
SELECT NULL, '20,000 open ones at a time'
 WHERE CASE WHEN (SELECT count(*) FROM tasks_) < $2::int
            THEN (SELECT count(*) FROM open_tasks) = 20000
                 OR (SELECT count(*) FROM tasks_) + (SELECT count(*) FROM steps_) < $2::int
                    AND (SELECT count(*) FROM open_steps) = 20000 END
