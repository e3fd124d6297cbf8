-- Jobs that own nine of ten Available tasks while tasks of other jobs wait. The runner polls the task that waits longest
-- first, and those that were never polled last, so each other task is polled after a round of the job's tasks.
-- Index: task__available_polled_at__idx, the 2,500 tasks at each end of the line.
WITH line AS MATERIALIZED (
  (SELECT task_id, job_id, created_at, (polled_at).time AS polled FROM :"schema".task WHERE status = 'Available' ORDER BY polled_at LIMIT 2500)
  UNION
  (SELECT task_id, job_id, created_at, (polled_at).time AS polled FROM :"schema".task WHERE status = 'Available' ORDER BY polled_at DESC LIMIT 2500)
),
owners AS (
  SELECT l.job_id, count(*) AS tasks, sum(count(*)) OVER () AS available FROM line l GROUP BY l.job_id ORDER BY count(*) DESC, l.job_id LIMIT 1
),
crowded AS (
  SELECT o.*, w.others, w.since
    FROM owners o
   CROSS JOIN LATERAL (SELECT count(*) AS others, min(coalesce(l.polled, l.created_at)) AS since FROM line l WHERE l.job_id <> o.job_id) AS w
   WHERE o.available >= 500 AND o.tasks >= 0.9 * o.available AND w.since < now() - :crowded
)
(SELECT 'job:' || c.job_id AS id, extract(epoch FROM c.since)::float8 AS since,
        jsonb_build_object('tasks', c.tasks, 'available', c.available || CASE WHEN c.available = 5000 THEN ' that were read' ELSE '' END,
                           'share', round(100.0 * c.tasks / c.available) || ' %',
                           'others', c.others || CASE c.others WHEN 1 THEN ' task' ELSE ' tasks' END,
                           'waits', date_trunc('second', now() - c.since)::text) AS evidence
   FROM crowded c
  WHERE :ids IS NULL OR c.job_id = ANY (:job_keys)
  LIMIT :limit)
UNION ALL
SELECT NULL, NULL, NULL WHERE :ids IS NULL AND (SELECT count(*) = 5000 FROM line)
