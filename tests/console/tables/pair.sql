-- A key of two columns, of which one is text with the separator in it.
CREATE TABLE sync_requests (
  account text,
  seq int4,
  request jsonb,
  status text NOT NULL DEFAULT 'queued' CHECK (status IN ('queued', 'running', 'done', 'failed')),
  next_attempt_at timestamptz NOT NULL DEFAULT now(),
  claimed_by text,
  claimed_until timestamptz,
  PRIMARY KEY (account, seq)
);
INSERT INTO sync_requests (account, seq, status, next_attempt_at, claimed_by, claimed_until) VALUES
  ('secret', 1, 'queued', now() - interval '1 day', NULL, NULL), ('a+b%2B', 1, 'running', now() - interval '1 day', 'secret', now() - interval '1 hour'),
  ('a+b%2B', 2, 'failed', now() - interval '1 hour', NULL, NULL);
