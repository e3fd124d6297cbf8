-- List the templates of a namespace: named tasks, one row per version.
-- cursor: name|version of the last row of the previous page, or NULL
-- Index: the unique index on named_tasks(task_namespace_uuid, name, version).
SELECT 'template:' || n.named_task_uuid AS id, n.name || '|' || n.version AS cursor
  FROM :"schema".named_tasks n
 WHERE n.task_namespace_uuid = substr(:parent, 11)::uuid
   AND (:cursor IS NULL
        OR (n.name, n.version) > (split_part(:cursor, '|', 1)::varchar, split_part(:cursor, '|', 2)::varchar))
 ORDER BY n.name, n.version
 LIMIT :limit
