-- The message at the given position of each task's inbox, with digest and verdict. A message above 100 kB is not checked.
WITH elements AS MATERIALIZED (
  SELECT t.task_id, t.task_type, e.position, e.element,
\ir safe.sql
    FROM :"schema".tasks t
   CROSS JOIN LATERAL unnest(t.inbox) WITH ORDINALITY AS e(element, position)
   WHERE t.task_id = ANY (:task_keys)
     AND e.position = (:args ->> 'position')::int8
),
\ir judged.sql
