-- Tasks with this task as parent, oldest first.
-- needs: task_by_parent
SELECT 'task:' || t.task_id AS id, t.task_id::text AS cursor
  FROM :"schema".tasks t
 WHERE t.parent_id = substr(:parent, 6)::macaddr8
   AND t.parent_id <> '00:00:00:00:00:00:00:00'::macaddr8
   AND t.task_id <> t.parent_id
   AND (:cursor IS NULL OR t.task_id > :cursor::text::macaddr8)
 ORDER BY t.task_id
 LIMIT :limit
