-- Tasks with a job that is due for long, and after which a worker took one that comes later in the order of jobs, while
-- none of the task is locked. Jobs of locked queues are not due, and what was
-- taken before a queue was freed proves nothing about its jobs.
-- needs: available, locked
-- Indexes: jobs_main_index, one on (locked_at) of locked jobs, tasks_pkey, job_queues_pkey1: 5,000 rows of each.
WITH locked AS MATERIALIZED (
  SELECT j.id, j.task_id, j.priority, j.run_at, j.locked_at, age(j.xmin) AS age FROM :"schema"._private_jobs j WHERE j.locked_at IS NOT NULL ORDER BY j.locked_at DESC LIMIT 5000
),
waiting AS MATERIALIZED (
  SELECT j.task_id, j.job_queue_id, j.priority, j.run_at, j.flags FROM :"schema"._private_jobs j WHERE j.is_available = true ORDER BY j.priority, j.run_at LIMIT 5000
),
first AS MATERIALIZED (
  SELECT DISTINCT ON (w.task_id) w.task_id, w.priority, w.run_at, w.flags, q.age
    FROM waiting w
    LEFT JOIN LATERAL (SELECT i.queue_name, i.is_available, age(i.xmin) AS age FROM :"schema"._private_job_queues i WHERE i.id = w.job_queue_id LIMIT 1) AS q ON true
   WHERE w.run_at < now() - :not_served AND q.is_available IS NOT FALSE
     AND w.task_id NOT IN (SELECT l.task_id FROM locked l)
   ORDER BY w.task_id, w.priority, w.run_at
)
(SELECT 'task:' || f.task_id AS id, extract(epoch FROM f.run_at)::float8 AS since,
        jsonb_build_object('task', coalesce(k.identifier, f.task_id::text), 'oldest', date_trunc('second', f.run_at)::text, 'taken', t.id,
                           'but', coalesce(', or forbid a flag of the job: ' || (SELECT string_agg(o.key, ', ') FROM jsonb_object_keys(CASE jsonb_typeof(f.flags) WHEN 'object' THEN f.flags END) AS o(key)), ''),
                           'taken_at', date_trunc('second', t.locked_at)::text) AS evidence
   FROM first f
   LEFT JOIN LATERAL (SELECT i.identifier FROM :"schema"._private_tasks i WHERE i.id = f.task_id LIMIT 1) AS k ON true
  CROSS JOIN LATERAL (SELECT l.id, l.locked_at FROM locked l
                       WHERE (l.priority, l.run_at) >= (f.priority, f.run_at) AND l.locked_at > f.run_at
                         AND coalesce(f.age >= l.age, true) ORDER BY l.locked_at DESC LIMIT 1) AS t
  WHERE :ids IS NULL OR 'task:' || f.task_id = ANY (:ids)
  ORDER BY f.run_at, f.task_id
  LIMIT :limit)
UNION ALL
SELECT NULL, NULL, NULL WHERE (SELECT count(*) FROM waiting) = 5000 OR (SELECT count(*) FROM locked) = 5000
