-- Everything that is to be polled, longest due first: what runs, lapsed, died or is ready, then sleepers by wake_at;
-- then, where the table is small, what is suspended. A row without an id: there may be others.
-- $1 cursor text: part|wake_at|task_id of the last row of the previous page, or NULL
-- $2 page int: maximum number of rows
-- $3 have text[]
-- Index: idx_tasks_ready_at in its own order; ids only break ties.
WITH timed AS (
  SELECT t.task_id, t.wake_at
    FROM :"schema".tasks t
   WHERE t.wake_at IS NOT NULL
     AND ($1::text IS NULL
          OR ($1::text LIKE 't|%'
              AND t.wake_at >= split_part($1::text, '|', 2)::timestamptz
              AND (t.wake_at > split_part($1::text, '|', 2)::timestamptz OR t.task_id > split_part($1::text, '|', 3)::macaddr8)))
   ORDER BY t.wake_at, t.task_id
   LIMIT $2::int
),
suspended AS (
  SELECT t.task_id
    FROM :"schema".tasks t
   WHERE t.wake_at IS NULL
     AND 'task_scan' = ANY ($3::text[])
     AND ($1::text IS NULL OR $1::text LIKE 't|%' OR t.task_id < split_part($1::text, '|', 3)::macaddr8)
   ORDER BY t.task_id DESC
   LIMIT $2::int
)
((SELECT 'task:' || t.task_id AS id, 't|' || t.wake_at || '|' || t.task_id AS cursor
   FROM timed t
  ORDER BY t.wake_at, t.task_id)
UNION ALL
(SELECT 'task:' || s.task_id, 's||' || s.task_id
   FROM suspended s
  ORDER BY s.task_id DESC)
LIMIT $2::int)
UNION ALL
SELECT NULL, 'tasks that are to be polled'
 WHERE NOT 'task_scan' = ANY ($3::text[])
