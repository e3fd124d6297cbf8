-- Tasks whose state waits for children, while no task has them as parent.
-- $1 ids text[]: local ids to check, or NULL for all
-- $2 settings jsonb: pending, by type; names
-- $3 page int: maximum number of rows
-- needs: task_scan, task_by_parent
-- needs of ids: task_by_parent
WITH waiting AS MATERIALIZED (
  SELECT t.task_id, t.task_type, left(t.inner_state::text, 200) AS shown,
         regexp_replace(regexp_replace(t.inner_state::text, '\\(u[0-9a-fA-F]{4}|.)', '?', 'g'),
                        '([0-9]{30})[0-9]+|([eE][+-]?[0-9]{2})[0-9]+', '\1\2', 'g') AS state
    FROM :"schema".tasks t
   WHERE ($1::text[] IS NULL OR t.task_id = ANY (ARRAY(SELECT substr(i, 6)::macaddr8 FROM unnest($1::text[]) i WHERE i LIKE 'task:%')))
     AND t.wake_at IS NULL
     AND t.heartbeat = '0001-01-01T00:00:00Z'::timestamptz
     AND coalesce(cardinality(t.inbox), 0) = 0
     AND $2::jsonb -> 'pending' ? t.task_type::text
     AND NOT EXISTS (SELECT FROM :"schema".tasks c WHERE c.parent_id = t.task_id AND c.parent_id <> '00:00:00:00:00:00:00:00'::macaddr8)
)
SELECT 'task:' || w.task_id AS id, NULL::float8 AS since, jsonb_build_object('state', w.shown, 'type', coalesce($2::jsonb -> 'names' ->> w.task_type::text, 'type ' || w.task_type)) AS evidence
  FROM waiting w
 WHERE coalesce(jsonb_path_match(w.state::jsonb, ($2::jsonb -> 'pending' ->> w.task_type::text)::jsonpath, '{}', true), false)
 ORDER BY w.task_id
 LIMIT $3::int
