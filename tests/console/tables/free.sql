-- Free text as status, with words that nothing explains, and a text as key.
CREATE TABLE messages (
  id text PRIMARY KEY,
  topic text NOT NULL,
  body text,
  state text,
  attempt int2 NOT NULL DEFAULT 0,
  claimed_at timestamptz,
  parent_id text
);
INSERT INTO messages (id, topic, state, claimed_at) VALUES
  ('secret-1', 'x', 'new', NULL), ('secret-2', 'x', 'new', NULL), ('secret-3', 'x', 'enqueued', NULL), ('secret-4', 'x', 'claimed', now() - interval '1 h'),
  ('secret-5', 'x', 'errored', NULL), ('secret-6', 'x', 'perhaps', NULL), ('secret-7', 'x', 'finished', NULL), ('secret-8', 'x', NULL, NULL);
