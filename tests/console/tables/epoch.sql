-- Times as milliseconds and as seconds since 1970.
CREATE TABLE steps (
  id serial PRIMARY KEY,
  kind text NOT NULL,
  status text NOT NULL DEFAULT 'ready' CHECK (status = ANY (ARRAY['ready', 'running', 'failed', 'success', 'canceled'])),
  run_after bigint NOT NULL DEFAULT (extract(epoch FROM now()) * 1000)::int8,
  lease_until bigint,
  executor_id text,
  created_at integer NOT NULL DEFAULT extract(epoch FROM now())::int4,
  tries integer NOT NULL DEFAULT 0
);
INSERT INTO steps (kind, status, lease_until, executor_id) VALUES
  ('secret', 'running', (extract(epoch FROM now()) * 1000)::int8 - 3600000, 'a'), ('secret', 'ready', NULL, NULL), ('secret', 'failed', NULL, NULL);
