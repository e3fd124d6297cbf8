-- Words in a CHECK constraint, a uuid as key, times without zone, a heartbeat, and a trigger that notifies.
CREATE TABLE tasks (
  task_id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
  name varchar(80),
  status varchar(20) NOT NULL CHECK (status IN ('pending', 'processing', 'retry', 'error', 'complete')),
  scheduled_at timestamp,
  started_at timestamp,
  last_heartbeat timestamp,
  worker_id text NOT NULL DEFAULT 'no''body',
  input jsonb,
  result bytea,
  error_message text
);
CREATE FUNCTION announce() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_notify('tasks', NEW.name); RETURN NEW; END $$;
CREATE TRIGGER tell AFTER INSERT ON tasks FOR EACH ROW EXECUTE FUNCTION announce();
INSERT INTO tasks (name, status, scheduled_at) VALUES ('secret', 'pending', now() - interval '1 day'), ('secret', 'pending', NULL);
INSERT INTO tasks (name, status, last_heartbeat) VALUES ('secret', 'processing', now() - interval '1 day'), ('secret', 'complete', NULL);
