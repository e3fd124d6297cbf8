-- Tasks whose state waits for children, while no task has them as parent.
-- needs: task_scan, task_by_parent
-- needs of ids: task_by_parent
WITH waiting AS MATERIALIZED (
  SELECT t.task_id, t.task_type, left(t.inner_state::text, 200) AS shown,
         regexp_replace(regexp_replace(t.inner_state::text, '\\(u[0-9a-fA-F]{4}|.)', '?', 'g'),
                        '([0-9]{30})[0-9]+|([eE][+-]?[0-9]{2})[0-9]+', '\1\2', 'g') AS state
\ir ../parts/suspended.sql
     AND coalesce(cardinality(t.inbox), 0) = 0
     AND :settings -> 'pending' ? t.task_type::text
     AND NOT EXISTS (SELECT FROM :"schema".tasks c WHERE c.parent_id = t.task_id AND c.parent_id <> '00:00:00:00:00:00:00:00'::macaddr8)
)
SELECT 'task:' || w.task_id AS id, NULL::float8 AS since, jsonb_build_object('state', w.shown, 'type', coalesce(:settings -> 'names' ->> w.task_type::text, 'type ' || w.task_type)) AS evidence
  FROM waiting w
 WHERE coalesce(jsonb_path_match(w.state::jsonb, (:settings -> 'pending' ->> w.task_type::text)::jsonpath, '{}', true), false)
 ORDER BY w.task_id
 LIMIT :limit
