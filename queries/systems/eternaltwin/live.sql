-- Everything unfinished, most urgent first: Available tasks by their last poll (oldest first, never polled last),
-- then sleepers by deadline (of a task's several timers the first, where timers can be found by task), then, where that
-- is cheap, tasks blocked without a timer.
-- $1 cursor text: part|position|task_id of the last row of the page before, or NULL
-- $2 page int: how many at most
-- $3 have text[]
-- Indexes: task__available_polled_at__idx, task_timer_pkey with task_pkey.
WITH available AS (
  SELECT 1 AS part, t.task_id, row_number() OVER () AS n,
         'a|' || coalesce((t.polled_at).time || ' ' || (t.polled_at).salt, '') || '|' || t.task_id AS cursor
    FROM (SELECT t.task_id, t.polled_at
            FROM task t
           WHERE t.status = 'Available'
             AND ($1::text IS NULL
                  OR ($1::text LIKE 'a|_%|%' AND split_part($1::text, '|', 2) <> ''
                      AND (t.polled_at >= row(substring(split_part($1::text, '|', 2) FROM '^(.*) \d+$')::timestamptz,
                                              substring(split_part($1::text, '|', 2) FROM ' (\d+)$')::int)::job_tick
                           OR t.polled_at IS NULL)
                      AND (t.polled_at IS NULL
                           OR (t.polled_at, t.task_id::uuid) >
                              (row(substring(split_part($1::text, '|', 2) FROM '^(.*) \d+$')::timestamptz,
                                   substring(split_part($1::text, '|', 2) FROM ' (\d+)$')::int)::job_tick,
                               split_part($1::text, '|', 3)::uuid)))
                  OR ($1::text LIKE 'a||%' AND t.polled_at IS NULL AND t.task_id > split_part($1::text, '|', 3)::uuid))
           ORDER BY t.polled_at, t.task_id
           LIMIT $2::int) AS t
),
sleeping AS (
  SELECT 2 AS part, m.task_id, row_number() OVER () AS n, 's|' || m.deadline || '|' || m.task_id AS cursor
    FROM (SELECT m.deadline, m.task_id
            FROM task_timer m JOIN task t ON t.task_id = m.task_id
           WHERE t.status = 'Blocked'
             AND NOT ('timer_by_task' = ANY ($3::text[])
                      AND EXISTS (SELECT FROM task_timer e WHERE e.task_id = m.task_id AND e.deadline < m.deadline))
             AND ($1::text IS NULL OR $1::text LIKE 'a|%'
                  OR ($1::text LIKE 's|%'
                      AND (m.deadline, m.task_id) > (split_part($1::text, '|', 2)::timestamptz, split_part($1::text, '|', 3)::uuid)))
           ORDER BY m.deadline, m.task_id
           LIMIT $2::int) AS m
),
waiting AS (
  SELECT 3 AS part, w.task_id, row_number() OVER () AS n, 'w||' || w.task_id AS cursor
    FROM (SELECT t.task_id
            FROM task t
           WHERE t.status = 'Blocked'
             AND 'task_by_status' = ANY ($3::text[]) AND 'timer_by_task' = ANY ($3::text[])
             AND NOT EXISTS (SELECT FROM task_timer m WHERE m.task_id = t.task_id)
             AND ($1::text IS NULL OR $1::text NOT LIKE 'w|%' OR t.task_id > split_part($1::text, '|', 3)::uuid)
           ORDER BY t.task_id
           LIMIT $2::int) AS w
)
SELECT 'task:' || u.task_id AS id, u.cursor
  FROM (SELECT * FROM available UNION ALL SELECT * FROM sleeping UNION ALL SELECT * FROM waiting) AS u
 ORDER BY u.part, u.n
 LIMIT $2::int
