-- One item of each state, and what is stuck.
INSERT INTO work_items (task) VALUES ('import'), ('report');
INSERT INTO work_items (parent_id, task, state, due, taken_by, taken_at, tries, error) VALUES
  (1, 'fetch', 'done', now() - interval '1 hour', NULL, NULL, 1, NULL),
  (1, 'parse', 'doing', now() - interval '1 hour', 'worker-1', now() - interval '50 minutes', 1, NULL),
  (1, 'store', 'doing', now(), 'worker-2', now(), 1, NULL),
  (2, 'render', 'failed', now() - interval '2 hours', NULL, NULL, 3, 'no such font'),
  (2, 'render', 'failed', now() - interval '1 hour', NULL, NULL, 3, 'no such font'),
  (2, 'mail', 'todo', now() + interval '1 day', NULL, NULL, 0, NULL),
  (2, 'print', 'cancelled', now(), NULL, NULL, 0, NULL);
