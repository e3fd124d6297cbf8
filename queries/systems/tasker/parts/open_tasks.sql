-- Unfinished tasks with their states: those asked for, or the newest 20,000 (of the highest priority first). What failed
-- or was cancelled stays among them for ever. Indexes: idx_tasks_active_with_priority_covering, state_lookup; index-only.
candidates AS MATERIALIZED (
  (SELECT t.task_uuid FROM tasks t
    WHERE t.complete = false AND $1::text[] IS NULL
    ORDER BY t.priority DESC, t.task_uuid DESC LIMIT 20000)
  UNION ALL
  SELECT t.task_uuid FROM tasks t
   WHERE t.complete = false
     AND t.task_uuid = ANY (ARRAY(SELECT substr(i, 6)::uuid FROM unnest($1::text[]) AS i WHERE i LIKE 'task:%'))
),
open_tasks AS MATERIALIZED (
  SELECT c.task_uuid, x.to_state
    FROM candidates c
    LEFT JOIN LATERAL (SELECT x.to_state FROM task_transitions x WHERE x.task_uuid = c.task_uuid AND x.most_recent OFFSET 0) AS x ON true
)
