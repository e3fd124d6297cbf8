-- Tasks without a parent that exists, newest first: ids begin with the time of their making. Many rows name a parent
-- at random, so a parent_id that is no task's counts as none; a row whose parent it is itself is a root too.
-- $1 cursor text: the last task_id of the page before, or NULL
-- $2 page int: how many at most
-- Index: tasks_pkey backwards, and once more for each parent (as a scalar subquery: an EXISTS could become one scan).
SELECT 'task:' || t.task_id AS id, t.task_id::text AS cursor
  FROM tasks t
 WHERE ($1::text IS NULL OR t.task_id < $1::text::macaddr8)
   AND (SELECT p.task_id FROM tasks p
         WHERE p.task_id = t.parent_id AND p.task_id <> t.task_id AND p.task_id <> '00:00:00:00:00:00:00:00'::macaddr8) IS NULL
 ORDER BY t.task_id DESC
 LIMIT $2::int
