-- List the tasks of a template, newest first. Ids are UUID v7, so their order is by time.
-- kinds: template
-- $1 parent text: local id of the template
-- $2 cursor text: last task_uuid of the previous page, or NULL
-- $3 page int: maximum number of rows
-- Indexes: tasks_pkey backwards, or the one on tasks(named_task_uuid).
SELECT 'task:' || t.task_uuid AS id, t.task_uuid::text AS cursor
  FROM :"schema".tasks t
 WHERE t.named_task_uuid = substr($1::text, 10)::uuid
   AND ($2::text IS NULL OR t.task_uuid < $2::text::uuid)
 ORDER BY t.task_uuid DESC
 LIMIT $3::int
