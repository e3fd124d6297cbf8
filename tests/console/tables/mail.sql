-- Words and names of no list, as a newcomer has them: guesses, with questions.
CREATE TABLE mail_queue (
  id bigserial PRIMARY KEY,
  batch_id bigint REFERENCES mail_queue,
  subject text NOT NULL,
  state text NOT NULL DEFAULT 'queued' CHECK (state IN ('queued', 'sending', 'sent', 'bounced', 'cancelled')),
  send_after timestamptz NOT NULL DEFAULT now(),
  locked_by text,
  locked_at timestamptz,
  tries integer NOT NULL DEFAULT 0,
  max_tries integer NOT NULL DEFAULT 5,
  last_error text,
  payload jsonb,
  created_at timestamptz NOT NULL DEFAULT now()
);
INSERT INTO mail_queue (subject, state, send_after, locked_by, locked_at) VALUES
  ('secret', 'queued', now() - interval '1 hour', NULL, NULL), ('secret', 'sending', now(), 'host:1', now() - interval '1 hour'),
  ('secret', 'bounced', now(), NULL, NULL), ('secret', 'sent', now(), NULL, NULL), ('secret', 'cancelled', now(), NULL, NULL);
