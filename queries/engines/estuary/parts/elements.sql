-- Each message of the edited inbox (edited.sql), with that at its position in the inbox of each task. The elements of a
-- json array keep their spelling.
elements AS MATERIALIZED (
  SELECT t.task_id, t.task_type, n.position, n.element, o.element AS was, coalesce(o.element::text, 'null') IS DISTINCT FROM n.element::text AS changed
    FROM :"schema".tasks t
   CROSS JOIN LATERAL unnest(t.inbox) WITH ORDINALITY AS o(element, position)
    JOIN (SELECT j.* FROM edited e CROSS JOIN LATERAL json_array_elements(CASE WHEN e.n > 0 THEN e.text::json ELSE '[]' END) WITH ORDINALITY AS j(element, position)) AS n
      ON n.position = o.position
   WHERE t.task_id = ANY (:task_keys)
)
