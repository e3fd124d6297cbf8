-- The newest 5,000 unfinished tasks of the highest 20 priorities, and a row in `older_tasks` where there may be others.
-- The index leads with the priority: so the newest of each are merged. Begins after the including file's WITH RECURSIVE.
-- Index: idx_tasks_active_with_priority_covering backwards, index-only.
priorities AS (
  (SELECT t.priority FROM tasks t WHERE t.complete = false ORDER BY t.priority DESC LIMIT 1)
  UNION ALL
  SELECT (SELECT t.priority FROM tasks t WHERE t.complete = false AND t.priority < p.priority ORDER BY t.priority DESC LIMIT 1)
    FROM priorities p WHERE p.priority IS NOT NULL
),
newest_tasks AS MATERIALIZED (
  SELECT t.task_uuid
    FROM (SELECT p.priority FROM priorities p WHERE p.priority IS NOT NULL LIMIT 20) AS p
   CROSS JOIN LATERAL (SELECT t.task_uuid FROM tasks t WHERE t.complete = false AND t.priority = p.priority
                        ORDER BY t.task_uuid DESC LIMIT 5000) AS t
   ORDER BY t.task_uuid DESC LIMIT 5000
),
older_tasks AS (
  SELECT FROM (SELECT) AS always
   WHERE (SELECT count(*) FROM newest_tasks) = 5000
      OR (SELECT count(p.priority) FROM (SELECT p.priority FROM priorities p LIMIT 21) AS p) = 21
)
