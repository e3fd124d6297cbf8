-- The message at the given position of each task's inbox, with digest and verdict. A message above 100 kB is not checked.
elements AS MATERIALIZED (
  SELECT t.task_id, t.task_type, e.position, e.element,
         CASE WHEN octet_length(e.element::text) < 100000
              THEN regexp_replace(regexp_replace(e.element::text, '\\(u[0-9a-fA-F]{4}|.)', '?', 'g'),
                                  '([0-9]{30})[0-9]+|([eE][+-]?[0-9]{2})[0-9]+', '\1\2', 'g') END AS safe
    FROM :"schema".tasks t
   CROSS JOIN LATERAL unnest(t.inbox) WITH ORDINALITY AS e(element, position)
   WHERE t.task_id = ANY (ARRAY(SELECT substr(i, 6)::macaddr8 FROM unnest($1::text[]) AS i))
     AND e.position = ($4::jsonb ->> 'position')::int8
),
\ir judged.sql
