CREATE TABLE mail_outbox (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  state text NOT NULL DEFAULT 'new',
  send_after timestamptz NOT NULL DEFAULT now(),
  picked_by text,
  picked_at timestamptz,
  error text
);
