-- The processes of the demo: a supervisor, a worker for default and mail*, a scheduler. No dispatcher runs, so what is scheduled waits.

-- :beat every 10 ticks
UPDATE solid_queue_processes SET last_heartbeat_at = timezone('UTC', now()) WHERE name <> 'worker-2';

-- :arrive every 4 ticks, at most 2000 times
WITH made AS (
  INSERT INTO solid_queue_jobs (queue_name, class_name, arguments, active_job_id, created_at, updated_at)
  SELECT 'default', c.name, json_build_object('job_class', c.name, 'arguments', json_build_array(floor(random() * 900)), 'executions', 0, 'exception_executions', '{}'::json)::text, gen_random_uuid()::text, timezone('UTC', now()),
         timezone('UTC', now())
    FROM (SELECT (ARRAY['ImportJob', 'SyncJob', 'CleanJob'])[1 + floor(random() * 3)::int] AS name) AS c
  RETURNING id
)
INSERT INTO solid_queue_ready_executions (job_id, queue_name, created_at) SELECT id, 'default', timezone('UTC', now()) FROM made;

-- :finish every 3 ticks
WITH ended AS (
  DELETE FROM solid_queue_claimed_executions c USING solid_queue_processes p
   WHERE p.id = c.process_id AND p.name = 'worker-1' AND c.created_at BETWEEN timezone('UTC', now()) - interval '20 seconds' AND timezone('UTC', now()) - interval '1 second' RETURNING c.job_id, random() AS luck
),
failed AS (
  INSERT INTO solid_queue_failed_executions (job_id, error, created_at)
  SELECT job_id, '{"exception_class":"Net::ReadTimeout","message":"Net::ReadTimeout","backtrace":["app/jobs/import_job.rb:12"]}', timezone('UTC', now()) FROM ended WHERE luck < 0.04
)
UPDATE solid_queue_jobs j SET finished_at = timezone('UTC', now()), updated_at = timezone('UTC', now()) FROM ended e WHERE j.id = e.job_id AND e.luck >= 0.04;

-- :take every 3 ticks
WITH next AS (
  DELETE FROM solid_queue_ready_executions
   WHERE job_id IN (SELECT r.job_id FROM solid_queue_ready_executions r
                     WHERE r.queue_name = 'default' AND NOT EXISTS (SELECT FROM solid_queue_pauses p WHERE p.queue_name = r.queue_name)
                     ORDER BY r.priority, r.job_id LIMIT 2 FOR UPDATE SKIP LOCKED) RETURNING job_id
)
INSERT INTO solid_queue_claimed_executions (job_id, process_id, created_at)
SELECT n.job_id, p.id, timezone('UTC', now()) FROM next n, solid_queue_processes p WHERE p.name = 'worker-1';
