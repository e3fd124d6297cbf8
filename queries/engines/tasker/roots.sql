-- List namespaces by name.
-- cursor: last name of the previous page, or NULL
-- Index: the unique index on task_namespaces(name).
SELECT 'namespace:' || n.task_namespace_uuid AS id, n.name::text AS cursor
  FROM :"schema".task_namespaces n
 WHERE :cursor IS NULL OR n.name > :cursor
 ORDER BY n.name
 LIMIT :limit
