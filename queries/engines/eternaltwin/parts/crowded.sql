-- Jobs that own nine of ten Available tasks while tasks of other jobs wait. The runner polls the task that waits
-- longest first, and those that were never polled last, so each other task is polled after a round of the job's tasks.
-- Index: task__available_polled_at__idx, the 2,500 tasks at each end of the line.
line AS MATERIALIZED (
  (SELECT task_id, job_id, created_at, (polled_at).time AS polled FROM :"schema".task WHERE status = 'Available' ORDER BY polled_at LIMIT 2500)
  UNION
  (SELECT task_id, job_id, created_at, (polled_at).time AS polled FROM :"schema".task WHERE status = 'Available' ORDER BY polled_at DESC LIMIT 2500)
),
owners AS (
  SELECT l.job_id, count(*) AS tasks, sum(count(*)) OVER () AS available FROM line l GROUP BY l.job_id ORDER BY count(*) DESC, l.job_id LIMIT 1
),
nodes AS (
  SELECT 'job:' || o.job_id AS id, o.*, w.others, w.since
    FROM owners o
   CROSS JOIN LATERAL (SELECT count(*) AS others, min(coalesce(l.polled, l.created_at)) AS since FROM line l WHERE l.job_id <> o.job_id) AS w
   WHERE o.available >= 500 AND o.tasks >= 0.9 * o.available AND w.since < now() - :crowded
),
more AS (SELECT (SELECT count(*) FROM line) = 5000 AS more)
