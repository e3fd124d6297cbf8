-- Jobs in each status, and what is stuck.
-- All objects are in the first schema of the search_path. Parameters: none.

INSERT INTO pgqueuer (priority, entrypoint, status, execute_after, queue_manager_id, heartbeat, dedupe_key, payload, attempts, slot) VALUES
  (0, 'mail', 'picked', now() - interval '1 hour', '5f0c7c1e-0000-4000-8000-000000000001', now() - interval '20 minutes', NULL, '{"to": "anna"}', 0, NULL),
  (0, 'mail', 'picked', now() - interval '1 hour', '5f0c7c1e-0000-4000-8000-000000000001', now() - interval '20 minutes', NULL, NULL, 0, 0),
  (0, 'mail', 'picked', now() - interval '1 hour', '5f0c7c1e-0000-4000-8000-000000000002', now() + interval '1 hour', NULL, NULL, 0, 1),
  (0, 'mail', 'queued', now() - interval '1 hour', NULL, now(), NULL, NULL, 0, NULL),
  (5, 'mail', 'queued', now() + interval '1 day', NULL, now(), 'nightly', NULL, 0, NULL),
  (0, 'billing', 'queued', now() - interval '1 hour', NULL, now(), NULL, '\x00ff', 0, NULL),
  (0, 'billing', 'queued', now() - interval '50 minutes', NULL, now(), NULL, NULL, 2, NULL),
  (0, 'files', 'queued', now() - interval '1 minute', '5f0c7c1e-0000-4000-8000-000000000003', now(), NULL, NULL, 0, 2),
  (0, 'files', 'failed', now() - interval '1 hour', NULL, now(), NULL, NULL, 3, NULL),
  (0, 'files', 'failed', now() - interval '1 hour', NULL, now(), 'scan-1', NULL, 3, NULL),
  (0, 'files', 'queued', now() + interval '2 days', NULL, now(), NULL, NULL, 0, NULL);
UPDATE pgqueuer SET created = now() - interval '2 hours' + id * interval '1 minute', updated = now() - interval '1 hour' + id * interval '1 minute';

INSERT INTO pgqueuer_log (job_id, status, priority, entrypoint, created)
SELECT id, 'queued', priority, entrypoint, created FROM pgqueuer;
INSERT INTO pgqueuer_log (job_id, status, priority, entrypoint, created)
SELECT id, 'picked', priority, entrypoint, updated FROM pgqueuer WHERE status = 'picked';
INSERT INTO pgqueuer_log (job_id, status, priority, entrypoint, created, traceback)
SELECT id, 'failed', priority, entrypoint, updated,
       jsonb_build_object('job_id', id, 'exception_type', 'ValueError', 'exception_message', 'no such file', 'traceback', '', 'additional_context', NULL)
  FROM pgqueuer WHERE status = 'failed';
INSERT INTO pgqueuer_log (job_id, status, priority, entrypoint, created, traceback)
SELECT 900 + n, 'exception', 0, 'mail', now() - n * interval '1 minute',
       jsonb_build_object('exception_type', 'ValueError', 'exception_message', 'no such mailbox', 'traceback', '')
  FROM generate_series(1, 3) AS n;

INSERT INTO pgqueuer_schedules (expression, entrypoint, next_run, last_run, status, heartbeat) VALUES
  ('* * * * *', 'digest', now() - interval '1 hour', now() - interval '2 hours', 'queued', now() - interval '2 hours'),
  ('0 * * * *', 'report', now() - interval '30 minutes', now() - interval '2 hours', 'picked', now() - interval '90 minutes'),
  ('0 0 * * *', 'clean', now() + interval '6 hours', NULL, 'queued', now());
