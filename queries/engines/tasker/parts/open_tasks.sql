-- Unfinished tasks in the states of `wanted(to_state)`, with the time of entry: the requested ones; else, if an index
-- starts with the state, the 1,000 oldest in each state; else those among the newest 5,000, where failed and cancelled
-- tasks stay permanently. A first row without a task marks a truncated search.
-- Indexes: idx_tasks_active_with_priority_covering and the state_lookup, index-only, or one on
-- task_transitions(to_state, created_at). Look up many keys as one array: since PostgreSQL 17, neighbouring keys cost
-- one page instead of one index descent each. Use FULL JOIN on such results: the planner expects few rows of an array,
-- and only a full join excludes nested loops.
open_tasks AS MATERIALIZED (
  WITH \ir newest_tasks.sql
, candidates AS MATERIALIZED (
    SELECT n.task_uuid FROM newest_tasks n WHERE :ids IS NULL AND NOT 'task_by_state' = ANY (:met_needs)
    UNION ALL
    SELECT t.task_uuid FROM :"schema".tasks t WHERE t.complete = false AND t.task_uuid = ANY (:task_keys)
  ),
  task_states AS MATERIALIZED (
    SELECT x.task_uuid, x.to_state FROM :"schema".task_transitions x
     WHERE x.most_recent AND x.task_uuid = ANY (ARRAY(SELECT c.task_uuid FROM candidates c))
  ),
  in_state AS MATERIALIZED (
    SELECT x.task_uuid, x.to_state FROM task_states x WHERE x.to_state IN (SELECT w.to_state FROM wanted w)
    UNION ALL
    SELECT o.task_uuid, w.to_state
      FROM wanted w
     CROSS JOIN LATERAL (
           SELECT x.task_uuid FROM :"schema".task_transitions x
            WHERE x.to_state = w.to_state AND x.most_recent AND :ids IS NULL AND 'task_by_state' = ANY (:met_needs)
            ORDER BY x.created_at LIMIT 1000) AS o
  )
  SELECT NULL AS task_uuid, NULL AS to_state, NULL AS at, NULL AS processor_uuid
   WHERE :ids IS NULL
     AND CASE WHEN NOT 'task_by_state' = ANY (:met_needs) THEN EXISTS (SELECT FROM newest_tasks n WHERE n.older)
              ELSE EXISTS (SELECT FROM in_state i GROUP BY i.to_state HAVING count(*) = 1000) END
  UNION ALL
  SELECT x.task_uuid, x.to_state, x.created_at, x.processor_uuid
    FROM :"schema".task_transitions x
   WHERE x.most_recent AND x.task_uuid = ANY (ARRAY(SELECT i.task_uuid FROM in_state i))
)
