-- A status that is a number, of which nothing but the code of the application says what it means. Webhooks are beside it.
CREATE TABLE deliveries (
  id uuid PRIMARY KEY,
  state smallint NOT NULL DEFAULT 0 CHECK (state BETWEEN 0 AND 4),
  urgent boolean NOT NULL DEFAULT false,
  due_at timestamptz NOT NULL DEFAULT now(),
  claimed_by text,
  claimed_until timestamptz
);
INSERT INTO deliveries (id, state, due_at, claimed_by, claimed_until)
SELECT md5(n::text)::uuid, n % 5, now() - interval '1 hour', CASE n % 5 WHEN 1 THEN 'secret' END, CASE n % 5 WHEN 1 THEN now() - interval '50 minutes' END
  FROM generate_series(1, 20) AS n;
