-- The queue as its application creates it.
CREATE TABLE work_items (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  parent_id bigint REFERENCES work_items,
  task text NOT NULL,
  payload jsonb NOT NULL DEFAULT '{}',
  state text NOT NULL DEFAULT 'todo' CHECK (state IN ('todo', 'doing', 'failed', 'done', 'cancelled')),
  due timestamptz NOT NULL DEFAULT now(),
  taken_by text,
  taken_at timestamptz,
  tries integer NOT NULL DEFAULT 0,
  max_tries integer NOT NULL DEFAULT 3,
  error text
);
