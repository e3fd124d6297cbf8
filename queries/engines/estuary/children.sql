-- Tasks with this task as parent, oldest first.
-- $1 parent text: local id of the parent
-- $2 cursor text: last task_id of the previous page, or NULL
-- $3 page int: maximum number of rows
-- needs: task_by_parent
SELECT 'task:' || t.task_id AS id, t.task_id::text AS cursor
  FROM :"schema".tasks t
 WHERE t.parent_id = substr($1::text, 6)::macaddr8
   AND t.parent_id <> '00:00:00:00:00:00:00:00'::macaddr8
   AND t.task_id <> t.parent_id
   AND ($2::text IS NULL OR t.task_id > $2::text::macaddr8)
 ORDER BY t.task_id
 LIMIT $3::int
