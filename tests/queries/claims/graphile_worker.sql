-- :fill
TRUNCATE _private_jobs, _private_tasks, _private_job_queues RESTART IDENTITY;
INSERT INTO _private_tasks (identifier) VALUES ('mail'), ('billing'), ('files');
INSERT INTO _private_job_queues (queue_name, locked_at, locked_by) SELECT 'q' || n, CASE WHEN random() < 0.5 THEN now() END, 'pool' FROM generate_series(1, 3) AS n;
INSERT INTO _private_jobs (task_id, job_queue_id, priority, run_at, attempts, max_attempts, locked_at, locked_by)
SELECT 1 + floor(random() * 3), CASE WHEN random() < 0.5 THEN 1 + floor(random() * 3) END, floor(random() * 3), now() + (random() - 0.7) * interval '1 hour',
       CASE WHEN random() < 0.2 THEN 3 ELSE 1 END, 3, CASE WHEN random() < 0.25 THEN now() - random() * interval '5 hours' END, 'pool'
  FROM generate_series(1, 12);

-- :own
SELECT jobs.id::text FROM _private_jobs AS jobs
 WHERE jobs.is_available = true AND run_at <= now() AND task_id = ANY (ARRAY(SELECT t.id FROM _private_tasks t WHERE t.identifier = ANY ($1)))
   AND (jobs.job_queue_id IS NULL OR jobs.job_queue_id IN (SELECT q.id FROM _private_job_queues AS q WHERE q.is_available = true FOR UPDATE SKIP LOCKED))
 ORDER BY priority ASC, run_at ASC FOR UPDATE SKIP LOCKED;
