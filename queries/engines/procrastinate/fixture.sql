-- Jobs in each status, and what is stuck. The triggers write the events; afterwards they get other times.
-- All objects are in the first schema of the search_path. Parameters: none.

INSERT INTO procrastinate_workers (last_heartbeat) VALUES (now() - interval '20 minutes'), (now() + interval '1 hour');

INSERT INTO procrastinate_jobs (queue_name, task_name, priority, lock, queueing_lock, args, scheduled_at) VALUES
  ('mail', 'send', 0, NULL, NULL, '{"to": "anna"}', NULL),
  ('mail', 'send', 0, NULL, NULL, '{"to": "bert"}', NULL),
  ('mail', 'send', 0, 'customer-1', NULL, '{}', NULL),
  ('mail', 'send', 0, 'customer-1', NULL, '{}', NULL),
  ('mail', 'send', 0, 'customer-2', NULL, '{}', NULL),
  ('mail', 'send', 0, 'customer-2', NULL, '{}', NULL),
  ('billing', 'invoice', 0, 'account-1', NULL, '{"account": 1}', now() + interval '1 day'),
  ('billing', 'invoice', 0, 'account-1', NULL, '{"account": 1}', NULL),
  ('billing', 'invoice', 5, NULL, 'nightly', '{}', now() + interval '2 days'),
  ('files', 'scan', 0, NULL, NULL, '{}', NULL),
  ('files', 'scan', 0, NULL, NULL, '{}', NULL),
  ('mail', 'digest', 0, NULL, NULL, '{}', NULL),
  ('mail', 'digest', 0, NULL, NULL, '{}', NULL),
  ('mail', 'digest', 0, NULL, NULL, '{}', NULL),
  ('mail', 'digest', 0, NULL, NULL, '{}', NULL),
  ('mail', 'digest', 0, NULL, NULL, '{}', NULL),
  ('mail', 'digest', 0, NULL, NULL, '{}', NULL),
  ('mail', 'digest', 0, NULL, NULL, '{}', NULL),
  ('files', 'mirror', 0, NULL, NULL, '{}', NULL);

UPDATE procrastinate_jobs SET status = 'doing', worker_id = 1 WHERE id IN (1, 3);
UPDATE procrastinate_jobs SET status = 'doing', worker_id = 2 WHERE id IN (2, 5, 19);
UPDATE procrastinate_jobs SET status = 'doing' WHERE id BETWEEN 13 AND 17;
UPDATE procrastinate_jobs SET status = 'failed', attempts = 3 WHERE id IN (13, 14);
UPDATE procrastinate_jobs SET status = 'succeeded', attempts = 1 WHERE id IN (15, 16);
UPDATE procrastinate_jobs SET status = 'aborted', attempts = 1 WHERE id = 17;
UPDATE procrastinate_jobs SET status = 'cancelled' WHERE id = 18;
INSERT INTO procrastinate_periodic_defers (task_name, defer_timestamp, job_id) VALUES ('digest', 1700000000, 16);

-- Each event a minute after the one before it; the last failure is 40 minutes old.
UPDATE procrastinate_events e SET at = now() - interval '100 minutes' + e.id * interval '1 minute' WHERE e.type <> 'scheduled';
-- One job runs for three days.
UPDATE procrastinate_events e SET at = now() - interval '3 days' WHERE e.job_id = 19 AND e.type <> 'scheduled';
