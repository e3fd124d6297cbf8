-- Unfinished tasks in the states of `wanted(to_state)`: those asked for; where an index leads with the state, the 1,000
-- that are in each for longest; else those among the newest 5,000 (of the highest priority first), where what failed or
-- was cancelled stays for ever. `more` has a row where there may be others. Indexes: idx_tasks_active_with_priority_covering
-- and the state_lookup, index-only, or that on task_transitions(to_state, created_at).
candidates AS MATERIALIZED (
  (SELECT t.task_uuid FROM tasks t
    WHERE t.complete = false AND $1::text[] IS NULL AND NOT 'task_by_state' = ANY ($4::text[])
    ORDER BY t.priority DESC, t.task_uuid DESC LIMIT 5000)
  UNION ALL
  SELECT t.task_uuid FROM tasks t
   WHERE t.complete = false
     AND t.task_uuid = ANY (ARRAY(SELECT substr(i, 6)::uuid FROM unnest($1::text[]) AS i WHERE i LIKE 'task:%'))
),
open_tasks AS MATERIALIZED (
  SELECT c.task_uuid, x.to_state
    FROM candidates c
   CROSS JOIN LATERAL (SELECT x.to_state FROM task_transitions x WHERE x.task_uuid = c.task_uuid AND x.most_recent OFFSET 0) AS x
   WHERE x.to_state IN (SELECT w.to_state FROM wanted w)
  UNION ALL
  SELECT o.task_uuid, w.to_state
    FROM wanted w
   CROSS JOIN LATERAL (SELECT x.task_uuid FROM task_transitions x
                        WHERE x.to_state = w.to_state AND x.most_recent AND $1::text[] IS NULL AND 'task_by_state' = ANY ($4::text[])
                        ORDER BY x.created_at LIMIT 1000) AS o
),
more AS (
  SELECT FROM (SELECT) AS always
   WHERE $1::text[] IS NULL
     AND ((SELECT count(*) FROM candidates) = 5000
          OR 'task_by_state' = ANY ($4::text[]) AND EXISTS (SELECT FROM open_tasks o GROUP BY o.to_state HAVING count(*) = 1000))
)
