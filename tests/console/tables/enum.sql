-- An enum, a foreign key to itself, and times with zone.
CREATE TYPE job_state AS ENUM ('queued', 'running', 'failed', 'done', 'cancelled');
CREATE TABLE jobs (
  id bigserial PRIMARY KEY,
  parent_id bigint REFERENCES jobs,
  job_type text NOT NULL,
  args jsonb NOT NULL DEFAULT '{}',
  state job_state NOT NULL DEFAULT 'queued',
  run_at timestamptz NOT NULL DEFAULT now(),
  locked_by text,
  locked_at timestamptz,
  attempts integer NOT NULL DEFAULT 0,
  max_attempts integer NOT NULL DEFAULT 3,
  last_error text,
  created_at timestamptz NOT NULL DEFAULT now(),
  finished_at timestamptz
);
INSERT INTO jobs (job_type, state, run_at, locked_by, locked_at) VALUES
  ('secret', 'queued', now() - interval '1 hour', NULL, NULL),
  ('secret', 'running', now() - interval '1 hour', 'host:1', now() - interval '1 hour'),
  ('secret', 'failed', now(), NULL, NULL), ('secret', 'done', now(), NULL, NULL);
