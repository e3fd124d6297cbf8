-- List the templates of a namespace: named tasks, one row per version.
-- kinds: namespace
-- $1 parent text: local id of the namespace
-- $2 cursor text: name|version of the last row of the previous page, or NULL
-- $3 page int: maximum number of rows
-- Index: the unique index on named_tasks(task_namespace_uuid, name, version).
SELECT 'template:' || n.named_task_uuid AS id, n.name || '|' || n.version AS cursor
  FROM :"schema".named_tasks n
 WHERE n.task_namespace_uuid = substr($1::text, 11)::uuid
   AND ($2::text IS NULL
        OR (n.name, n.version) > (split_part($2::text, '|', 1)::varchar, split_part($2::text, '|', 2)::varchar))
 ORDER BY n.name, n.version
 LIMIT $3::int
