-- Tasks of a job, oldest first, so the root task is the first row.
-- $1 parent text: local id of the job
-- $2 cursor text: created_at|task_id of the last row of the previous page, or NULL
-- $3 page int: maximum number of rows
-- needs: task_by_job
SELECT 'task:' || t.task_id AS id, t.created_at || '|' || t.task_id AS cursor
  FROM :"schema".task t
 WHERE t.job_id = substr($1::text, 5)::uuid
   AND ($2::text IS NULL
        OR (t.created_at, t.task_id) > (split_part($2::text, '|', 1)::timestamptz, split_part($2::text, '|', 2)::uuid))
 ORDER BY t.created_at, t.task_id
 LIMIT $3::int
