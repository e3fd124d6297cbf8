-- Tasks with a wake_at, earliest first: running, held and ready tasks, then sleeping ones. Then suspended tasks, if the
-- table is small. A row without an id means that there may be more.
-- cursor: part|wake_at|task_id of the last row of the previous page, or NULL
-- Index: idx_tasks_ready_at, in its order; ids only break ties.
WITH timed AS (
  SELECT t.task_id, t.wake_at
    FROM :"schema".tasks t
   WHERE t.wake_at IS NOT NULL
     AND (:cursor IS NULL
          OR (:cursor LIKE 't|%'
              AND t.wake_at >= split_part(:cursor, '|', 2)::timestamptz
              AND (t.wake_at > split_part(:cursor, '|', 2)::timestamptz OR t.task_id > split_part(:cursor, '|', 3)::macaddr8)))
   ORDER BY t.wake_at, t.task_id
   LIMIT :limit
),
suspended AS (
  SELECT t.task_id
    FROM :"schema".tasks t
   WHERE t.wake_at IS NULL
     AND 'task_scan' = ANY (:met_needs)
     AND (:cursor IS NULL OR :cursor LIKE 't|%' OR t.task_id < split_part(:cursor, '|', 3)::macaddr8)
   ORDER BY t.task_id DESC
   LIMIT :limit
)
((SELECT 'task:' || t.task_id AS id, 't|' || t.wake_at || '|' || t.task_id AS cursor
   FROM timed t
  ORDER BY t.wake_at, t.task_id)
UNION ALL
(SELECT 'task:' || s.task_id, 's||' || s.task_id
   FROM suspended s
  ORDER BY s.task_id DESC)
LIMIT :limit)
UNION ALL
SELECT NULL, 'tasks with a wake_at'
 WHERE NOT 'task_scan' = ANY (:met_needs)
