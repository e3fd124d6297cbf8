-- Jobs with several unfinished tasks, all of them Blocked and without a timer: nothing can wake them. Reported at the
-- task that was created last, because the others may wait for it; with ids, at each of the given tasks.
-- needs: task_by_status, task_by_job, timer_by_task
-- needs of ids: task_by_job, timer_by_task
-- Indexes: those of the included part; one on task(job_id), at most 1,000 tasks of a job if the table is large: larger
-- jobs are skipped; one on task_timer(task_id).
\ir untimed.sql
unfinished AS MATERIALIZED (
  SELECT t.job_id, t.task_id, t.kind, t.status, t.created_at, coalesce((t.polled_at).time, t.created_at) AS since
    FROM :"schema".task t
   WHERE 'task_scan' = ANY (:met_needs) AND t.job_id IN (SELECT job_id FROM untimed) AND t.status <> 'Complete'
  UNION ALL
  SELECT z.job_id, t.*
    FROM sizes z
   CROSS JOIN LATERAL (SELECT o.task_id, o.kind, o.status, o.created_at, coalesce((o.polled_at).time, o.created_at) AS since
                         FROM :"schema".task o WHERE o.job_id = z.job_id AND o.status <> 'Complete' OFFSET 0) AS t
   WHERE z.tasks <= 1000
),
jobs AS MATERIALIZED (
  SELECT j.job_id, j.tasks, j.since
    FROM (SELECT u.job_id, count(*) AS tasks, max(u.since) AS since, bool_and(u.status = 'Blocked') AS blocked
            FROM unfinished u GROUP BY u.job_id) AS j
   WHERE j.tasks > 1 AND j.blocked
     AND j.since < now() - :lost_wakeup
     AND NOT EXISTS (SELECT FROM unfinished u
                      WHERE u.job_id = j.job_id
                        AND CASE WHEN 'timer_scan' = ANY (:met_needs) THEN EXISTS (SELECT FROM :"schema".task_timer m WHERE m.task_id = u.task_id)
                                 ELSE (SELECT m.task_id FROM :"schema".task_timer m WHERE m.task_id = u.task_id LIMIT 1) IS NOT NULL END)
),
nodes AS (
  SELECT 'task:' || u.task_id AS id, u.job_id AS job, u.kind, u.created_at, u.place, j.tasks, j.since
    FROM jobs j
    JOIN (SELECT o.*, row_number() OVER (PARTITION BY o.job_id ORDER BY o.created_at DESC, o.task_id DESC) AS place FROM unfinished o) AS u
      ON u.job_id = j.job_id
)
