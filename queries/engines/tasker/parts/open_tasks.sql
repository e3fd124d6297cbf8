-- Unfinished tasks in the states of `wanted(to_state)` and since when: those asked for; where an index leads with the
-- state, the 1,000 that are in each for longest; else those among the newest 5,000, where what failed or was cancelled
-- stays for ever. `more` has a row where there may be others. Indexes: idx_tasks_active_with_priority_covering and the
-- state_lookup, index-only, or that on task_transitions(to_state, created_at). Many keys are looked up as one array: from
-- PostgreSQL 17 on keys that are neighbours cost one page instead of a way through the index each. What was looked up so
-- is joined in full: few rows are expected of an array, and only a full join is never done by nested loops.
\ir newest_tasks.sql
,
candidates AS MATERIALIZED (
  SELECT n.task_uuid FROM newest_tasks n WHERE $1::text[] IS NULL AND NOT 'task_by_state' = ANY ($4::text[])
  UNION ALL
  SELECT t.task_uuid FROM :"schema".tasks t
   WHERE t.complete = false
     AND t.task_uuid = ANY (ARRAY(SELECT substr(i, 6)::uuid FROM unnest($1::text[]) AS i WHERE i LIKE 'task:%'))
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
   CROSS JOIN LATERAL (SELECT x.task_uuid FROM :"schema".task_transitions x
                        WHERE x.to_state = w.to_state AND x.most_recent AND $1::text[] IS NULL AND 'task_by_state' = ANY ($4::text[])
                        ORDER BY x.created_at LIMIT 1000) AS o
),
open_tasks AS MATERIALIZED (
  SELECT x.task_uuid, x.to_state, x.created_at AS at, x.processor_uuid
    FROM :"schema".task_transitions x WHERE x.most_recent AND x.task_uuid = ANY (ARRAY(SELECT i.task_uuid FROM in_state i))
),
more AS (
  SELECT FROM (SELECT) AS always
   WHERE $1::text[] IS NULL
     AND CASE WHEN NOT 'task_by_state' = ANY ($4::text[]) THEN EXISTS (SELECT FROM older_tasks)
              ELSE EXISTS (SELECT FROM in_state i GROUP BY i.to_state HAVING count(*) = 1000) END
)
