-- List everything unfinished: tasks by priority as the engine takes them, newest first within a priority; then unprocessed
-- steps, oldest first. Read at most 20,000 of each from the cursor on, because failed and cancelled ones stay among the
-- open ones permanently. A row without an id marks a truncated search.
-- cursor: t|priority|task_uuid or s||workflow_step_uuid of the last row of the previous page, or NULL
-- Indexes: idx_tasks_active_with_priority_covering backwards, idx_workflow_steps_active_operations, and the state_lookup
-- of each, index-only. Look up the first ones, which nearly always fill a page, then all others at once. FULL JOIN excludes
-- nested loops. Neighbouring tasks are read by range; nodes.task.sql explains that.
WITH open_tasks AS MATERIALIZED (
  SELECT t.task_uuid, t.priority
    FROM :"schema".tasks t
   WHERE t.complete = false AND t.complete = (SELECT false) -- parts/newest_tasks.sql says why this is written twice
     AND (:cursor IS NULL
          OR (:cursor LIKE 't|%' AND (t.priority, t.task_uuid) < (split_part(:cursor, '|', 2)::int, split_part(:cursor, '|', 3)::uuid)))
   ORDER BY t.priority DESC, t.task_uuid DESC
   LIMIT 2 * :limit
),
near_states AS MATERIALIZED (
  SELECT x.task_uuid, x.to_state
    FROM :"schema".task_transitions x
   WHERE x.most_recent
     AND x.task_uuid BETWEEN (SELECT o.task_uuid FROM open_tasks o ORDER BY o.task_uuid LIMIT 1)
                         AND (SELECT o.task_uuid FROM open_tasks o ORDER BY o.task_uuid DESC LIMIT 1)
   ORDER BY x.task_uuid
   LIMIT 10 * :limit
),
task_states AS MATERIALIZED (
  SELECT n.* FROM near_states n WHERE (n.task_uuid IN (SELECT o.task_uuid FROM open_tasks o)) IS TRUE -- hashed subplan
  UNION ALL
  SELECT x.task_uuid, x.to_state
    FROM :"schema".task_transitions x
   WHERE x.most_recent
     AND x.task_uuid = ANY (ARRAY(SELECT o.task_uuid FROM open_tasks o
                                   WHERE o.task_uuid > (SELECT n.task_uuid FROM near_states n ORDER BY n.task_uuid DESC LIMIT 1)))
),
first_tasks AS MATERIALIZED (
  SELECT o.task_uuid, o.priority
    FROM (SELECT o.task_uuid, o.priority, x.to_state FROM open_tasks o FULL JOIN task_states x ON x.task_uuid = o.task_uuid OFFSET 0) AS o
   WHERE o.to_state IS NULL OR o.to_state NOT IN ('cancelled', 'resolved_manually', 'error', 'complete')
   ORDER BY o.priority DESC, o.task_uuid DESC
   LIMIT :limit
),
other_tasks AS MATERIALIZED (
  SELECT t.task_uuid, t.priority
    FROM :"schema".tasks t
   WHERE t.complete = false AND t.complete = (SELECT false)
     AND (t.priority, t.task_uuid) < ((SELECT l.priority FROM open_tasks l ORDER BY l.priority, l.task_uuid LIMIT 1),
                                      (SELECT l.task_uuid FROM open_tasks l ORDER BY l.priority, l.task_uuid LIMIT 1))
     AND (SELECT count(*) FROM first_tasks) < :limit
   ORDER BY t.priority DESC, t.task_uuid DESC
   LIMIT 20000
),
other_task_states AS MATERIALIZED (
  SELECT x.task_uuid, x.to_state FROM :"schema".task_transitions x
   WHERE x.most_recent AND x.task_uuid = ANY (ARRAY(SELECT o.task_uuid FROM other_tasks o))
),
more_tasks AS MATERIALIZED (
  SELECT o.task_uuid, o.priority
    FROM (SELECT o.task_uuid, o.priority, x.to_state FROM other_tasks o FULL JOIN other_task_states x ON x.task_uuid = o.task_uuid OFFSET 0) AS o
   WHERE o.to_state IS NULL OR o.to_state NOT IN ('cancelled', 'resolved_manually', 'error', 'complete')
   ORDER BY o.priority DESC, o.task_uuid DESC
   LIMIT :limit - (SELECT count(*) FROM first_tasks)
),
tasks_ AS MATERIALIZED (SELECT * FROM first_tasks UNION ALL SELECT * FROM more_tasks),
open_steps AS MATERIALIZED (
  SELECT s.workflow_step_uuid
    FROM :"schema".workflow_steps s
   WHERE s.processed = false
     AND (:cursor IS NULL OR :cursor LIKE 't|%' OR s.workflow_step_uuid > split_part(:cursor, '|', 3)::uuid)
     AND (SELECT count(*) FROM tasks_) < :limit
   ORDER BY s.workflow_step_uuid
   LIMIT 2 * :limit
),
step_states AS MATERIALIZED (
  SELECT x.workflow_step_uuid, x.to_state FROM :"schema".workflow_step_transitions x
   WHERE x.most_recent AND x.workflow_step_uuid = ANY (ARRAY(SELECT o.workflow_step_uuid FROM open_steps o))
),
first_steps AS MATERIALIZED (
  SELECT o.workflow_step_uuid
    FROM (SELECT o.workflow_step_uuid, x.to_state FROM open_steps o FULL JOIN step_states x ON x.workflow_step_uuid = o.workflow_step_uuid OFFSET 0) AS o
   WHERE o.to_state IS NULL OR o.to_state NOT IN ('cancelled', 'resolved_manually', 'complete')
   ORDER BY o.workflow_step_uuid
   LIMIT :limit
),
other_steps AS MATERIALIZED (
  SELECT s.workflow_step_uuid
    FROM :"schema".workflow_steps s
   WHERE s.processed = false
     AND s.workflow_step_uuid > (SELECT l.workflow_step_uuid FROM open_steps l ORDER BY l.workflow_step_uuid DESC LIMIT 1)
     AND (SELECT count(*) FROM first_steps) < :limit - (SELECT count(*) FROM tasks_)
   ORDER BY s.workflow_step_uuid
   LIMIT 20000
),
other_step_states AS MATERIALIZED (
  SELECT x.workflow_step_uuid, x.to_state FROM :"schema".workflow_step_transitions x
   WHERE x.most_recent AND x.workflow_step_uuid = ANY (ARRAY(SELECT o.workflow_step_uuid FROM other_steps o))
),
more_steps AS MATERIALIZED (
  SELECT o.workflow_step_uuid
    FROM (SELECT o.workflow_step_uuid, x.to_state FROM other_steps o FULL JOIN other_step_states x ON x.workflow_step_uuid = o.workflow_step_uuid OFFSET 0) AS o
   WHERE o.to_state IS NULL OR o.to_state NOT IN ('cancelled', 'resolved_manually', 'complete')
   ORDER BY o.workflow_step_uuid
   LIMIT :limit - (SELECT count(*) FROM first_steps)
),
steps_ AS MATERIALIZED (SELECT * FROM first_steps UNION ALL SELECT * FROM more_steps)
(SELECT u.id, u.cursor
  FROM (SELECT 1 AS part, - t.priority::int8 AS place, t.task_uuid AS key, 'task:' || t.task_uuid AS id, 't|' || t.priority || '|' || t.task_uuid AS cursor
          FROM tasks_ t
        UNION ALL
        SELECT 2, 0, s.workflow_step_uuid, 'step:' || s.workflow_step_uuid, 's||' || s.workflow_step_uuid
          FROM steps_ s) AS u
 ORDER BY u.part, u.place, CASE u.part WHEN 1 THEN u.key END DESC, u.key
 LIMIT :limit)
UNION ALL
SELECT NULL, '20,000 open tasks and steps at a time'
 WHERE CASE WHEN (SELECT count(*) FROM tasks_) < :limit
            THEN (SELECT count(*) FROM other_tasks) = 20000
                 OR (SELECT count(*) FROM tasks_) + (SELECT count(*) FROM steps_) < :limit
                    AND (SELECT count(*) FROM other_steps) = 20000 END
