-- Unfinished tasks, most urgent first: Available tasks by their last poll (oldest first, never polled last), then tasks
-- with a timer by deadline, then tasks without a timer if that is cheap. A task with several timers is listed at its
-- first one, if an index finds timers by task.
-- cursor: part|position|task_id of the last row of the previous page, or NULL
-- Indexes: task__available_polled_at__idx, task_timer_pkey with task_pkey. Each part is read only if the parts before
-- it do not fill the page. Tasks polled in one tick share their polled_at, and tasks never polled have none: at most
-- 5,000 of each such group are listed. At most 5,000 timers are read to find Blocked tasks, and at most 5,000 Blocked
-- tasks to find those without a timer. A row without an id, after the last page, means that more tasks exist. Small
-- tables are read once and not probed row by row.
(SELECT 'task:' || a.task_id AS id, 'a|' || a.polled_at::text || '|' || a.task_id AS cursor
   FROM (SELECT t.task_id, t.polled_at
           FROM :"schema".task t
          WHERE :cursor LIKE 'a|%' AND t.status = 'Available' AND t.polled_at = split_part(:cursor, '|', 2):::"schema".job_tick
          LIMIT 5000) AS a
  WHERE a.task_id > split_part(:cursor, '|', 3)::uuid
  ORDER BY a.task_id
  LIMIT :limit)
UNION ALL
(SELECT 'task:' || a.task_id, 'a|' || a.polled_at::text || '|' || a.task_id
   FROM (SELECT t.task_id, t.polled_at
           FROM :"schema".task t
          WHERE t.status = 'Available' AND t.polled_at IS DISTINCT FROM NULL
            AND (:cursor IS NULL OR (:cursor LIKE 'a|%' AND t.polled_at > split_part(:cursor, '|', 2):::"schema".job_tick))
          ORDER BY t.polled_at
          LIMIT 5000) AS a
  ORDER BY a.polled_at, a.task_id
  LIMIT :limit)
UNION ALL
(SELECT 'task:' || n.task_id, 'n||' || n.task_id
   FROM (SELECT t.task_id
           FROM :"schema".task t
          WHERE t.status = 'Available' AND t.polled_at IS NOT DISTINCT FROM NULL
          ORDER BY t.polled_at -- makes the planner use the partial index and not task_pkey, where few such tasks are far apart
          LIMIT 5000) AS n
  WHERE :cursor IS NULL OR :cursor LIKE 'a|%'
     OR (:cursor LIKE 'n|%' AND n.task_id > split_part(:cursor, '|', 3)::uuid)
  ORDER BY n.task_id
  LIMIT :limit)
UNION ALL
(SELECT 'task:' || m.task_id, 's|' || m.deadline || '|' || m.task_id
   FROM (SELECT m.deadline, m.task_id
           FROM :"schema".task_timer m
          WHERE :cursor IS NULL OR :cursor LIKE 'a|%' OR :cursor LIKE 'n|%'
             OR (:cursor LIKE 's|%'
                 AND (m.deadline, m.task_id) > (split_part(:cursor, '|', 2)::timestamptz, split_part(:cursor, '|', 3)::uuid))
          ORDER BY m.deadline, m.task_id
          LIMIT 5000) AS m
  WHERE (SELECT t.status FROM :"schema".task t WHERE t.task_id = m.task_id) = 'Blocked'
    AND CASE WHEN NOT 'timer_by_task' = ANY (:met_needs) THEN true
             WHEN 'timer_scan' = ANY (:met_needs)
             THEN (m.task_id, m.deadline) IN (SELECT e.task_id, min(e.deadline) FROM :"schema".task_timer e GROUP BY e.task_id)
             ELSE (SELECT min(e.deadline) FROM :"schema".task_timer e WHERE e.task_id = m.task_id) = m.deadline END
  ORDER BY m.deadline, m.task_id
  LIMIT :limit)
UNION ALL
(SELECT 'task:' || w.task_id, 'w||' || w.task_id
   FROM (SELECT t.task_id
           FROM :"schema".task t
          WHERE t.status = 'Blocked'
            AND 'task_by_status' = ANY (:met_needs) AND 'timer_by_task' = ANY (:met_needs)
            AND (:cursor IS NULL OR :cursor NOT LIKE 'w|%' OR t.task_id > split_part(:cursor, '|', 3)::uuid)
          ORDER BY t.task_id
          LIMIT 5000) AS w
  WHERE CASE WHEN 'timer_scan' = ANY (:met_needs) THEN NOT EXISTS (SELECT FROM :"schema".task_timer m WHERE m.task_id = w.task_id)
             ELSE (SELECT m.task_id FROM :"schema".task_timer m WHERE m.task_id = w.task_id LIMIT 1) IS NULL END
  ORDER BY w.task_id
  LIMIT :limit)
UNION ALL
(SELECT NULL, 'the first 5,000 tasks that were never polled'
  WHERE EXISTS (SELECT FROM :"schema".task t
                 WHERE t.status = 'Available' AND t.polled_at IS NOT DISTINCT FROM NULL
                 ORDER BY t.polled_at OFFSET 5000 LIMIT 1))
LIMIT :limit
