-- The rows of jobs and tasks and of the tasks' timers, with the transaction or MultiXact that locked each row last.
-- needs: timer_by_task
-- $1 ids text[]: local ids
-- Indexes: job_pkey, task_pkey, one on task_timer(task_id).
\ir parts/node_rows.sql
UNION ALL
SELECT 'task:' || m.task_id, m.tableoid, m.ctid::text, m.xmax
  FROM unnest($1::text[]) AS i
 CROSS JOIN LATERAL (
       SELECT m.task_id, m.tableoid, m.ctid, m.xmax FROM :"schema".task_timer m
        WHERE m.task_id = CASE WHEN i LIKE 'task:%' THEN substr(i, 6)::uuid END
        LIMIT 20) AS m
