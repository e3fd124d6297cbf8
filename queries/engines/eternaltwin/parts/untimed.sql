-- Unfinished tasks of jobs whose unfinished tasks are all Blocked and without a timer: nothing can wake them. `place`
-- numbers those of a job, the one that was created last first, because the others may wait for it. Jobs are searched by
-- their Blocked tasks without a timer that did not change within the threshold lost_wakeup.
-- needs: task_by_status, task_by_job, timer_by_task
-- needs of ids: task_by_job, timer_by_task
-- Indexes: one on task(status), at most 5,000 Blocked tasks; one on task_timer(task_id); one on task(job_id), at most
-- 1,000 tasks of a job if the table is large: larger jobs are skipped. With ids, task_pkey. A small table is scanned.
waiting AS MATERIALIZED (
  (SELECT task_id FROM :"schema".task
    WHERE :ids IS NULL AND NOT 'task_scan' = ANY (:met_needs) AND status = 'Blocked' ORDER BY task_id LIMIT 5000)
  UNION ALL
  SELECT task_id FROM :"schema".task
   WHERE task_id = ANY (:task_keys) AND status = 'Blocked'
),
untimed AS MATERIALIZED (
  SELECT t.*
    FROM waiting w
   CROSS JOIN LATERAL (SELECT o.task_id, o.job_id, o.kind, o.revision, (o.polled_at).time AS polled,
                              coalesce((o.polled_at).time, o.created_at) AS since
                         FROM :"schema".task o WHERE o.task_id = w.task_id LIMIT 1) AS t
   WHERE CASE WHEN 'timer_scan' = ANY (:met_needs) THEN w.task_id NOT IN (SELECT m.task_id FROM :"schema".task_timer m)
              ELSE (SELECT m.task_id FROM :"schema".task_timer m WHERE m.task_id = w.task_id LIMIT 1) IS NULL END
     AND t.since < now() - :lost_wakeup_of_kind
  UNION ALL
  SELECT t.*
    FROM (SELECT o.task_id, o.job_id, o.kind, o.revision, (o.polled_at).time AS polled, coalesce((o.polled_at).time, o.created_at) AS since
            FROM :"schema".task o WHERE :ids IS NULL AND 'task_scan' = ANY (:met_needs) AND o.status = 'Blocked') AS t
   WHERE CASE WHEN 'timer_scan' = ANY (:met_needs) THEN t.task_id NOT IN (SELECT m.task_id FROM :"schema".task_timer m)
              ELSE (SELECT m.task_id FROM :"schema".task_timer m WHERE m.task_id = t.task_id LIMIT 1) IS NULL END
     AND t.since < now() - :lost_wakeup_of_kind
),
sizes AS MATERIALIZED (
  SELECT j.job_id, (SELECT count(*) FROM (SELECT FROM :"schema".task t WHERE t.job_id = j.job_id LIMIT 1001) AS o) AS tasks
    FROM (SELECT DISTINCT job_id FROM untimed WHERE NOT 'task_scan' = ANY (:met_needs)) AS j
),
more AS (SELECT (SELECT count(*) FROM waiting) = 5000 AS more),
of_jobs AS MATERIALIZED (
  SELECT t.job_id, t.task_id, t.kind, t.revision, t.status, t.created_at, (t.polled_at).time AS polled
    FROM :"schema".task t
   WHERE 'task_scan' = ANY (:met_needs) AND t.job_id IN (SELECT job_id FROM untimed)
  UNION ALL
  SELECT z.job_id, t.*
    FROM sizes z
   CROSS JOIN LATERAL (SELECT o.task_id, o.kind, o.revision, o.status, o.created_at, (o.polled_at).time AS polled
                         FROM :"schema".task o WHERE o.job_id = z.job_id OFFSET 0) AS t
   WHERE z.tasks <= 1000
),
jobs AS MATERIALIZED (
  SELECT j.*
    FROM (SELECT t.job_id, count(*) AS tasks, count(*) FILTER (WHERE t.status <> 'Complete') AS unfinished, bool_and(t.status IN ('Blocked', 'Complete')) AS asleep,
                 max(coalesce(t.polled, t.created_at)) FILTER (WHERE t.status <> 'Complete') AS since
            FROM of_jobs t GROUP BY t.job_id) AS j
   WHERE j.asleep
     AND NOT EXISTS (SELECT FROM of_jobs t
                      WHERE t.job_id = j.job_id AND t.status <> 'Complete'
                        AND CASE WHEN 'timer_scan' = ANY (:met_needs) THEN EXISTS (SELECT FROM :"schema".task_timer m WHERE m.task_id = t.task_id)
                                 ELSE (SELECT m.task_id FROM :"schema".task_timer m WHERE m.task_id = t.task_id LIMIT 1) IS NOT NULL END)
),
nodes AS (
  SELECT 'task:' || t.task_id AS id, j.job_id AS job, t.kind, t.revision, t.polled, t.created_at, t.place, j.unfinished, j.tasks, j.since
    FROM jobs j
    JOIN (SELECT o.*, row_number() OVER (PARTITION BY o.job_id ORDER BY o.created_at DESC, o.task_id DESC) AS place
            FROM of_jobs o WHERE o.status <> 'Complete') AS t ON t.job_id = j.job_id
)
