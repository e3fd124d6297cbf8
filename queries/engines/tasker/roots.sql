-- List namespaces by name.
-- $1 cursor text: last name of the previous page, or NULL
-- $2 page int: maximum number of rows
-- Index: the unique index on task_namespaces(name).
SELECT 'namespace:' || n.task_namespace_uuid AS id, n.name::text AS cursor
  FROM :"schema".task_namespaces n
 WHERE $1::text IS NULL OR n.name > $1::text
 ORDER BY n.name
 LIMIT $2::int
