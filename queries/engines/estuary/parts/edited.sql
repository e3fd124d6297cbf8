-- The edited inbox of each task: each message with the message at its position, and its verdict. The elements of a json
-- array keep their spelling.
WITH asked AS MATERIALIZED (
  SELECT :args -> 'inbox' ->> 'text' AS text, :args -> 'inbox' ->> 'seen' AS seen
),
old AS MATERIALIZED (
  SELECT t.task_id, t.task_type, e.position, e.element
    FROM :"schema".tasks t
   CROSS JOIN LATERAL unnest(t.inbox) WITH ORDINALITY AS e(element, position)
   WHERE t.task_id = ANY (:task_keys)
),
new AS MATERIALIZED (
  SELECT e.position, e.element
    FROM asked a
   CROSS JOIN LATERAL json_array_elements(CASE WHEN json_typeof(a.text::json) = 'array' THEN a.text::json ELSE '[]' END) WITH ORDINALITY AS e(element, position)
),
elements AS MATERIALIZED (
  SELECT o.task_id, o.task_type, e.position, e.element, o.element AS was, coalesce(o.element::text, 'null') IS DISTINCT FROM e.element::text AS changed,
\ir safe.sql
    FROM old o JOIN new e ON e.position = o.position
),
\ir judged.sql
