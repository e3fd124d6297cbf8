-- :fill
TRUNCATE solid_queue_jobs, solid_queue_pauses CASCADE;
INSERT INTO solid_queue_pauses (queue_name, created_at) SELECT q, timezone('UTC', now()) FROM unnest(ARRAY['mail', 'billing', 'files']) AS q WHERE random() < 0.2;
CREATE TEMPORARY TABLE made ON COMMIT DROP AS
SELECT n, (ARRAY['mail', 'billing', 'files'])[1 + floor(random() * 3)::int] AS queue, floor(random() * 3)::int AS priority,
       CASE WHEN random() < 0.5 THEN 'ready' ELSE (ARRAY['scheduled', 'blocked', 'claimed', 'failed', 'finished', 'lost'])[1 + floor(random() * 6)::int] END AS state
  FROM generate_series(1, 14) AS n;
INSERT INTO solid_queue_jobs (id, queue_name, class_name, priority, finished_at, created_at, updated_at)
SELECT n, queue, 'SyncJob', priority, CASE state WHEN 'finished' THEN timezone('UTC', now()) END, timezone('UTC', now()), timezone('UTC', now()) FROM made;
INSERT INTO solid_queue_ready_executions (job_id, queue_name, priority, created_at) SELECT n, queue, priority, timezone('UTC', now()) FROM made WHERE state = 'ready';
INSERT INTO solid_queue_scheduled_executions (job_id, queue_name, priority, scheduled_at, created_at)
SELECT n, queue, priority, timezone('UTC', now()) + (random() - 0.5) * interval '1 hour', timezone('UTC', now()) FROM made WHERE state = 'scheduled';
INSERT INTO solid_queue_blocked_executions (job_id, queue_name, priority, concurrency_key, expires_at, created_at)
SELECT n, queue, priority, 'account', timezone('UTC', now()), timezone('UTC', now()) FROM made WHERE state = 'blocked';
INSERT INTO solid_queue_claimed_executions (job_id, process_id, created_at) SELECT n, 1, timezone('UTC', now()) FROM made WHERE state = 'claimed';
INSERT INTO solid_queue_failed_executions (job_id, error, created_at) SELECT n, '{}', timezone('UTC', now()) FROM made WHERE state = 'failed';

-- :own
SELECT e.job_id::text FROM solid_queue_ready_executions e
 WHERE e.queue_name = ANY ($1) AND e.queue_name NOT IN (SELECT p.queue_name FROM solid_queue_pauses p)
 ORDER BY e.priority ASC, e.job_id ASC FOR UPDATE SKIP LOCKED;
