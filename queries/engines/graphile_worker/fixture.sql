-- Jobs in each status, and what is stuck.
-- All objects are in the first schema of the search_path. Parameters: none.

INSERT INTO _private_tasks (identifier) VALUES ('mail'), ('bill'), ('scan');
INSERT INTO _private_job_queues (queue_name, locked_at, locked_by) VALUES
  ('anna', now() - interval '3 hours', 'pool-00000000000000000a'),
  ('bert', now() - interval '20 minutes', 'pool-00000000000000000b'),
  ('cora', NULL, NULL);

INSERT INTO _private_jobs (task_id, job_queue_id, priority, run_at, attempts, max_attempts, last_error, key, locked_at, locked_by, payload, flags) VALUES
  (1, 1, 0, now() - interval '4 hours', 1, 25, NULL, NULL, now() - interval '3 hours', 'pool-00000000000000000a', '{"to": "anna"}', NULL),
  (1, NULL, 0, now() - interval '4 hours', 3, 3, 'no such mailbox', NULL, now() - interval '30 minutes', 'pool-00000000000000000a', '{}', NULL),
  (1, 1, 0, now() - interval '2 hours', 0, 25, NULL, NULL, NULL, NULL, '{"to": "anna"}', NULL),
  (1, 2, 0, now() - interval '1 hour', 0, 25, NULL, NULL, NULL, NULL, '{}', NULL),
  (1, 3, 0, now() + interval '1 day', 0, 25, NULL, 'digest', NULL, NULL, '{}', NULL),
  (1, NULL, 5, now() - interval '1 hour', 0, 25, NULL, NULL, NULL, NULL, '[1, 2]', NULL),
  (2, NULL, 0, now() - interval '1 hour', 0, 25, NULL, NULL, NULL, NULL, '{}', '{"slow": true}'),
  (2, NULL, 1, now() - interval '50 minutes', 1, 25, 'no such bill', NULL, NULL, NULL, '{}', NULL),
  (2, NULL, 0, now() + interval '6 hours', 3, 25, 'no such bill', NULL, NULL, NULL, '{}', NULL),
  (3, NULL, 0, now() - interval '1 hour', 5, 5, 'no such file', NULL, NULL, NULL, '{}', NULL),
  (3, 3, 0, now() + interval '1 hour', 25, 25, 'Manually marked as failed', 'scan-1', NULL, NULL, '{}', NULL),
  (3, NULL, 9, now() - interval '1 minute', 1, 25, NULL, NULL, now(), 'pool-00000000000000000c', '{}', NULL);
INSERT INTO _private_jobs (task_id, run_at, attempts, last_error)
SELECT 2, now() + interval '30 minutes', 2, 'the bank did not answer request ' || n FROM generate_series(1, 12) AS n;
UPDATE _private_jobs SET created_at = now() - interval '5 hours' + id * interval '1 minute', updated_at = now() - interval '5 hours' + id * interval '1 minute';

INSERT INTO _private_known_crontabs (identifier, known_since, last_execution) VALUES
  ('digest', now() - interval '30 days', now() - interval '1 hour'), ('report', now() - interval '1 hour', NULL);
