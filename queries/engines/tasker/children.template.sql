-- List the tasks of a template, newest first. Ids are UUID v7, so their order is by time.
-- cursor: last task_uuid of the previous page, or NULL
-- Indexes: tasks_pkey backwards, or the one on tasks(named_task_uuid).
SELECT 'task:' || t.task_uuid AS id, t.task_uuid::text AS cursor
  FROM :"schema".tasks t
 WHERE t.named_task_uuid = substr(:parent, 10)::uuid
   AND (:cursor IS NULL OR t.task_uuid < :cursor::text::uuid)
 ORDER BY t.task_uuid DESC
 LIMIT :limit
