-- No status: the state comes from columns.
CREATE TABLE delayed_jobs (
  id bigserial PRIMARY KEY,
  priority integer NOT NULL DEFAULT 0,
  attempts integer NOT NULL DEFAULT 0,
  handler text NOT NULL,
  last_error text,
  run_at timestamptz,
  locked_at timestamptz,
  failed_at timestamptz,
  locked_by text,
  queue text
);
INSERT INTO delayed_jobs (handler, run_at, locked_at, locked_by, failed_at) VALUES
  ('secret', now() - interval '1 hour', NULL, NULL, NULL), ('secret', now(), now() - interval '1 hour', 'host:1', NULL),
  ('secret', now(), NULL, NULL, now() - interval '1 hour');
