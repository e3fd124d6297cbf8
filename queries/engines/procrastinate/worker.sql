-- A worker of the demo for the queue mail, and none for billing and files.

-- :begin at most 1 times
INSERT INTO procrastinate_workers (last_heartbeat) VALUES (now());

-- :beat every 10 ticks
UPDATE procrastinate_workers SET last_heartbeat = now() WHERE id = (SELECT max(id) FROM procrastinate_workers);

-- :arrive every 4 ticks, at most 2000 times
INSERT INTO procrastinate_jobs (queue_name, task_name, args) VALUES ('mail', 'send', jsonb_build_object('to', 'user' || floor(random() * 900)));

-- :abort every 3 ticks
UPDATE procrastinate_jobs SET status = 'aborted', abort_requested = false, attempts = attempts + 1 WHERE status = 'doing' AND abort_requested AND worker_id = (SELECT max(id) FROM procrastinate_workers);

-- :finish every 3 ticks
UPDATE procrastinate_jobs j SET status = CASE WHEN random() < 0.05 THEN 'failed' ELSE 'succeeded' END::procrastinate_job_status, attempts = attempts + 1
 WHERE j.status = 'doing' AND j.worker_id = (SELECT max(id) FROM procrastinate_workers)
   AND EXISTS (SELECT FROM procrastinate_events e WHERE e.job_id = j.id AND e.type = 'started' AND e.at < now() - interval '1 second');

-- :take every 3 ticks
UPDATE procrastinate_jobs SET status = 'doing', worker_id = (SELECT max(id) FROM procrastinate_workers)
 WHERE id IN (SELECT j.id FROM procrastinate_jobs j
               WHERE j.status = 'todo' AND j.queue_name = 'mail' AND (j.scheduled_at IS NULL OR j.scheduled_at <= now())
                 AND NOT EXISTS (SELECT FROM procrastinate_jobs h WHERE h.lock = j.lock AND (h.status = 'doing' OR h.status = 'todo' AND h.id < j.id))
               ORDER BY j.priority DESC, j.id LIMIT 2 FOR UPDATE SKIP LOCKED);
