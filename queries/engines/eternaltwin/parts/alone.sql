-- Blocked tasks without a timer whose job has no other unfinished task that could wake them.
-- needs: task_by_status, task_by_job, timer_by_task
-- needs of ids: task_by_job, timer_by_task
-- Indexes: one on task(status), at most 5,000 Blocked tasks; one on task_timer(task_id); one on task(job_id), at most
-- 1,000 tasks of a job if the table is large: larger jobs are skipped. With ids, task_pkey.
\ir untimed.sql
of_job AS MATERIALIZED (
  SELECT t.job_id, count(*) AS tasks, count(*) FILTER (WHERE t.status <> 'Complete') AS unfinished
    FROM :"schema".task t
   WHERE 'task_scan' = ANY (:met_needs) AND t.job_id IN (SELECT job_id FROM untimed)
   GROUP BY t.job_id
  UNION ALL
  SELECT z.job_id, z.tasks,
         (SELECT count(*) FROM :"schema".task t WHERE t.job_id = z.job_id AND t.status <> 'Complete') AS unfinished
    FROM sizes z
   WHERE z.tasks <= 1000
),
nodes AS (
  SELECT 'task:' || u.task_id AS id, u.kind, u.revision, u.polled, u.since, j.tasks
    FROM untimed u JOIN of_job j ON j.job_id = u.job_id WHERE j.unfinished = 1
)
