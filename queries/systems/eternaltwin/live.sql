-- Everything unfinished, most urgent first: Available tasks by their last poll (oldest first, never polled last),
-- then sleepers by deadline (of a task's several timers the first, where timers can be found by task), then, where that
-- is cheap, tasks blocked without a timer.
-- $1 cursor text: part|position|task_id of the last row of the page before, or NULL
-- $2 page int: how many at most
-- $3 have text[]
-- Indexes: task__available_polled_at__idx, task_timer_pkey with task_pkey.
WITH polled AS (
  SELECT 1 AS part, t.task_id, row_number() OVER () AS n, 'a|' || t.polled_at::text || '|' || t.task_id AS cursor
    FROM (SELECT t.task_id, t.polled_at
            FROM task t
           WHERE t.status = 'Available' AND t.polled_at IS DISTINCT FROM NULL
             AND ($1::text IS NULL
                  OR ($1::text LIKE 'a|%'
                      AND t.polled_at >= split_part($1::text, '|', 2)::job_tick
                      AND (t.polled_at, t.task_id::uuid)
                          > (split_part($1::text, '|', 2)::job_tick, split_part($1::text, '|', 3)::uuid)))
           ORDER BY t.polled_at, t.task_id
           LIMIT $2::int) AS t
),
never AS (
  SELECT 2 AS part, t.task_id, row_number() OVER () AS n, 'n||' || t.task_id AS cursor
    FROM (SELECT t.task_id
            FROM task t
           WHERE t.status = 'Available' AND t.polled_at IS NOT DISTINCT FROM NULL
             AND ($1::text IS NULL OR $1::text LIKE 'a|%'
                  OR ($1::text LIKE 'n|%' AND t.task_id > split_part($1::text, '|', 3)::uuid))
           ORDER BY t.polled_at, t.task_id -- for the index's sake: few such tasks are far apart in task_pkey
           LIMIT $2::int) AS t
),
sleeping AS (
  SELECT 3 AS part, m.task_id, row_number() OVER () AS n, 's|' || m.deadline || '|' || m.task_id AS cursor
    FROM (SELECT m.deadline, m.task_id
            FROM task_timer m JOIN task t ON t.task_id = m.task_id
           WHERE t.status = 'Blocked'
             AND NOT ('timer_by_task' = ANY ($3::text[])
                      AND EXISTS (SELECT FROM task_timer e WHERE e.task_id = m.task_id AND e.deadline < m.deadline))
             AND ($1::text IS NULL OR $1::text LIKE 'a|%' OR $1::text LIKE 'n|%'
                  OR ($1::text LIKE 's|%'
                      AND (m.deadline, m.task_id) > (split_part($1::text, '|', 2)::timestamptz, split_part($1::text, '|', 3)::uuid)))
           ORDER BY m.deadline, m.task_id
           LIMIT $2::int) AS m
),
waiting AS (
  SELECT 4 AS part, w.task_id, row_number() OVER () AS n, 'w||' || w.task_id AS cursor
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
  FROM (SELECT * FROM polled UNION ALL SELECT * FROM never UNION ALL SELECT * FROM sleeping UNION ALL SELECT * FROM waiting) AS u
 ORDER BY u.part, u.n
 LIMIT $2::int
