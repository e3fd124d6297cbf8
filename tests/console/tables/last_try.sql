-- No status: a row is given up after its last attempt, and a worker may run the last one. The lock of a queue is elsewhere.
CREATE TABLE work_queues (name text PRIMARY KEY, locked_until timestamptz);
CREATE TABLE work (
  id int8 PRIMARY KEY,
  queue text NOT NULL REFERENCES work_queues,
  run_at timestamptz NOT NULL DEFAULT now(),
  attempts int4 NOT NULL DEFAULT 0,
  max_attempts int4 NOT NULL DEFAULT 3,
  locked_at timestamptz,
  locked_by text,
  CONSTRAINT locked_by_one CHECK ((locked_at IS NULL) = (locked_by IS NULL))
);
CREATE TABLE work_results (id int8 PRIMARY KEY, work_id int8 REFERENCES work);
CREATE TABLE customers (id int8 PRIMARY KEY);
INSERT INTO work_queues VALUES ('secret');
INSERT INTO work (id, queue, run_at, attempts, locked_at, locked_by) VALUES
  (1, 'secret', now() - interval '1 hour', 0, NULL, NULL), (2, 'secret', now() - interval '1 hour', 3, NULL, NULL),
  (3, 'secret', now() - interval '1 hour', 3, now() - interval '1 hour', 'secret');
