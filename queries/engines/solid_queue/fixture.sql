-- Jobs in each state, and what is stuck: a killed worker, a queue without workers, a paused queue, overdue jobs, and concurrency
-- keys, one held and one lost. One job is finished and has a failed execution.
CREATE TEMPORARY TABLE given AS SELECT timezone('UTC', now()) AS now;

INSERT INTO solid_queue_processes (kind, last_heartbeat_at, pid, hostname, metadata, created_at, name)
SELECT p.kind, g.now - p.silent, p.pid, 'app-1', p.metadata, g.now - interval '1 day', p.name
  FROM given g, (VALUES ('Supervisor(fork)', interval '10 seconds', 100, '{}', 'supervisor-1'),
                        ('Worker', interval '10 seconds', 101, '{"polling_interval":0.1,"queues":"default,mail*","thread_pool_size":3}', 'worker-1'),
                        ('Worker', interval '40 minutes', 102, '{"polling_interval":0.1,"queues":"*","thread_pool_size":3}', 'worker-2'),
                        ('Scheduler', interval '10 seconds', 103, NULL, 'scheduler-1')) AS p(kind, silent, pid, metadata, name);

INSERT INTO solid_queue_jobs (queue_name, class_name, arguments, priority, active_job_id, scheduled_at, finished_at, concurrency_key, created_at, updated_at)
SELECT j.queue, j.class, '{"job_class":"' || j.class || '","arguments":[' || n || '],"executions":' || j.runs || ',"exception_executions":{}}',
       0, md5(j.class || n), g.now - j.age, CASE WHEN j.finished THEN g.now - j.age + interval '1 minute' END, j.key, g.now - greatest(j.age, '0') - interval '1 second', g.now - greatest(j.age, '0')
  FROM given g, (VALUES ('default', 'ImportJob', interval '2 hours', true, NULL, 1, 5), ('default', 'ImportJob', interval '5 seconds', false, NULL, 0, 3),
                        ('reports', 'ReportJob', interval '50 minutes', false, NULL, 0, 2), ('mailers', 'WelcomeJob', interval '35 minutes', false, NULL, 0, 2),
                        ('mail_slow', 'DigestJob', interval '30 minutes', false, NULL, 0, 2), ('default', 'SyncJob', interval '45 minutes', false, NULL, 1, 2),
                        ('default', 'ChargeJob', interval '1 minute', false, NULL, 1, 1), ('default', 'CleanJob', interval '-1 day', false, NULL, 0, 2),
                        ('default', 'RemindJob', interval '20 minutes', false, NULL, 0, 2), ('default', 'ParseJob', interval '3 hours', false, NULL, 5, 2),
                        ('default', 'RenderJob', interval '2 hours', false, 'RenderJob/7', 5, 1), ('default', 'BillJob', interval '30 minutes', false, 'BillJob/1', 1, 1),
                        ('default', 'BillJob', interval '25 minutes', false, 'BillJob/1', 0, 2), ('default', 'ShipJob', interval '40 minutes', false, 'ShipJob/9', 0, 2),
                        ('default', 'LostJob', interval '4 hours', false, NULL, 1, 1), ('default', 'NightJob', interval '1 hour', true, NULL, 1, 12), ('default', 'TwiceJob', interval '90 minutes', true, NULL, 1, 1))
                  AS j(queue, class, age, finished, key, runs, many), generate_series(1, j.many) AS n;

INSERT INTO solid_queue_ready_executions (job_id, queue_name, priority, created_at)
SELECT id, queue_name, priority, created_at FROM solid_queue_jobs
 WHERE finished_at IS NULL AND class_name IN ('ImportJob', 'ReportJob', 'WelcomeJob', 'DigestJob');
INSERT INTO solid_queue_claimed_executions (job_id, process_id, created_at)
SELECT j.id, p.id, j.updated_at FROM solid_queue_jobs j
  JOIN solid_queue_processes p ON p.name = CASE j.class_name WHEN 'SyncJob' THEN 'worker-2' ELSE 'worker-1' END
 WHERE j.class_name IN ('SyncJob', 'ChargeJob') OR (j.class_name = 'BillJob' AND j.arguments LIKE '%"executions":1%');
INSERT INTO solid_queue_scheduled_executions (job_id, queue_name, priority, scheduled_at, created_at)
SELECT id, queue_name, priority, scheduled_at, created_at FROM solid_queue_jobs WHERE class_name IN ('CleanJob', 'RemindJob');
INSERT INTO solid_queue_failed_executions (job_id, error, created_at)
SELECT id, '{"exception_class":"KeyError","message":"key not found: \"id\" in row ' || id || '","backtrace":["app/jobs/parse_job.rb:7"]}', updated_at
  FROM solid_queue_jobs WHERE class_name IN ('ParseJob', 'RenderJob', 'TwiceJob');
INSERT INTO solid_queue_blocked_executions (job_id, queue_name, priority, concurrency_key, expires_at, created_at)
SELECT id, queue_name, priority, concurrency_key, created_at + interval '3 minutes', created_at FROM solid_queue_jobs
 WHERE class_name = 'ShipJob' OR (class_name = 'BillJob' AND arguments LIKE '%"executions":0%');
INSERT INTO solid_queue_semaphores (key, value, expires_at, created_at, updated_at)
SELECT k.key, 0, g.now + interval '1 minute', g.now - interval '1 hour', g.now - interval '1 hour' FROM given g, (VALUES ('BillJob/1'), ('ShipJob/9')) AS k(key);
INSERT INTO solid_queue_pauses (queue_name, created_at) SELECT 'mailers', now - interval '30 minutes' FROM given;
INSERT INTO solid_queue_recurring_tasks (key, schedule, class_name, arguments, queue_name, static, created_at, updated_at)
SELECT 'nightly', 'every minute', 'NightJob', '[]', 'default', true, now - interval '9 days', now - interval '9 days' FROM given;
INSERT INTO solid_queue_recurring_executions (job_id, task_key, run_at, created_at)
SELECT j.id, 'nightly', g.now - interval '1 hour' - row_number() OVER (ORDER BY j.id DESC) * interval '1 minute', j.created_at
  FROM given g, solid_queue_jobs j WHERE j.class_name = 'NightJob';
INSERT INTO solid_queue_batches (description, total_jobs, created_at, updated_at) SELECT 'one of each', 2, now, now FROM given;
INSERT INTO solid_queue_batch_executions (job_id, batch_id, created_at)
SELECT j.id, b.id, j.created_at FROM solid_queue_jobs j, solid_queue_batches b WHERE j.class_name = 'CleanJob';
DROP TABLE given;
