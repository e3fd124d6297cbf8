INSERT INTO mail_outbox (state, send_after, picked_by, picked_at) VALUES
  ('new', now() - interval '20 minutes', NULL, NULL), ('new', now() + interval '1 hour', NULL, NULL),
  ('sending', now() - interval '1 hour', 'app.1', now() - interval '30 minutes'),
  ('sending', now() - interval '1 minute', 'app.2', now()), ('sent', now() - interval '1 day', 'app.2', now());
INSERT INTO mail_outbox (state, picked_at, error) SELECT 'refused', now(), 'no such mailbox: ' || n FROM generate_series(1, 2) AS n;
