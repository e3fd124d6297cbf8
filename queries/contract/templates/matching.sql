-- Nodes of the kind :kind that match conditions, in the order of their keys. Each page looks at 20,000 rows.
-- kinds: :kind
-- query: conditions by column, as JSON
-- cursor: key at which the page begins, or NULL; a row without an id has that of the next page
WITH looked AS MATERIALIZED (
  SELECT t.:key AS key
    FROM :"schema".:table AS t
   WHERE t.:key >= coalesce(CAST(:cursor AS :type), (SELECT t.:key FROM :"schema".:table AS t ORDER BY t.:key LIMIT 1))
   ORDER BY t.:key
   LIMIT 20001
), beyond AS MATERIALIZED (
  SELECT l.key FROM looked l ORDER BY l.key OFFSET 20000
), matching AS MATERIALIZED (
  SELECT :id AS id, t.:key AS key
    FROM :"schema".:table AS t
   WHERE t.:key BETWEEN (SELECT l.key FROM looked l ORDER BY l.key LIMIT 1) AND (SELECT l.key FROM looked l ORDER BY l.key DESC LIMIT 1)
     AND (t.:key < (SELECT b.key FROM beyond b)) IS NOT FALSE
     :conditions
   ORDER BY t.:key
   LIMIT :limit + 1
), following AS (
  SELECT coalesce((SELECT m.key FROM matching m ORDER BY m.key OFFSET :limit), (SELECT b.key FROM beyond b)) AS key
)
(SELECT m.id, m.key::text AS cursor FROM matching m ORDER BY m.key LIMIT :limit)
UNION ALL
SELECT NULL, f.key::text FROM following f WHERE f.key IS NOT NULL
