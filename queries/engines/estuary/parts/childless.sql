-- Suspended tasks of types that wait for children, while no task has them as parent. `state` is made safe for jsonb.
-- needs: task_scan, task_by_parent
-- needs of ids: task_by_parent
-- A small table may lack the index: its parents are read once and hashed.
\ir suspended.sql
, nodes AS MATERIALIZED (
  SELECT 'task:' || t.task_id AS id, t.task_type, left(t.inner_state::text, 200) AS shown,
         regexp_replace(regexp_replace(t.inner_state::text, '\\(u[0-9a-fA-F]{4}|.)', '?', 'g'),
                        '([0-9]{30})[0-9]+|([eE][+-]?[0-9]{2})[0-9]+', '\1\2', 'g') AS state
    FROM suspended t
   WHERE coalesce(cardinality(t.inbox), 0) = 0
     AND :settings -> 'pending' ? t.task_type::text
     AND CASE WHEN 'task_scan' = ANY (:met_needs)
              THEN t.task_id::macaddr8 NOT IN (SELECT c.parent_id::macaddr8 FROM :"schema".tasks c WHERE c.parent_id <> '00:00:00:00:00:00:00:00'::macaddr8)
              ELSE (SELECT c.task_id FROM :"schema".tasks c WHERE c.parent_id = t.task_id AND c.parent_id <> '00:00:00:00:00:00:00:00'::macaddr8 LIMIT 1) IS NULL END
)
