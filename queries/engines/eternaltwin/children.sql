-- Tasks of a job, oldest first, so the root task is the first row.
-- cursor: created_at|task_id of the last row of the previous page, or NULL
-- needs: task_by_job
-- kinds: job
SELECT 'task:' || t.task_id AS id, t.created_at || '|' || t.task_id AS cursor
  FROM :"schema".task t
 WHERE t.job_id = substr(:parent, 5)::uuid
   AND (:cursor IS NULL
        OR (t.created_at, t.task_id) > (split_part(:cursor, '|', 1)::timestamptz, split_part(:cursor, '|', 2)::uuid))
 ORDER BY t.created_at, t.task_id
 LIMIT :limit
