-- The tables of procrastinate 3.10, with its indexes, constraints and triggers, for tests and the check of engines. Described
-- from its catalog, which a test compares. The functions do what the engine's do; a worker needs more of them.
-- All objects are created in the first schema of the search_path. Parameters: none.

CREATE TYPE procrastinate_job_status AS ENUM ('todo', 'doing', 'succeeded', 'failed', 'cancelled', 'aborting', 'aborted');
CREATE TYPE procrastinate_job_event_type AS ENUM (
    'deferred', 'started', 'deferred_for_retry', 'failed', 'succeeded', 'cancelled', 'abort_requested', 'aborted', 'scheduled', 'retried'
);

CREATE TABLE procrastinate_workers (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    last_heartbeat timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX idx_procrastinate_workers_last_heartbeat ON procrastinate_workers (last_heartbeat);

CREATE TABLE procrastinate_jobs (
    id bigserial PRIMARY KEY,
    queue_name varchar(128) NOT NULL,
    task_name varchar(128) NOT NULL,
    priority integer NOT NULL DEFAULT 0,
    lock text,
    queueing_lock text,
    args jsonb NOT NULL DEFAULT '{}',
    status procrastinate_job_status NOT NULL DEFAULT 'todo',
    scheduled_at timestamptz,
    attempts integer NOT NULL DEFAULT 0,
    abort_requested boolean NOT NULL DEFAULT false,
    worker_id bigint REFERENCES procrastinate_workers ON DELETE SET NULL,
    CONSTRAINT check_not_todo_abort_requested CHECK (NOT (status = 'todo' AND abort_requested = true))
);
CREATE UNIQUE INDEX procrastinate_jobs_queueing_lock_idx_v1 ON procrastinate_jobs (queueing_lock) WHERE status = 'todo';
CREATE UNIQUE INDEX procrastinate_jobs_lock_idx_v1 ON procrastinate_jobs (lock) WHERE status = 'doing';
CREATE INDEX procrastinate_jobs_priority_idx_v1 ON procrastinate_jobs (priority DESC, id) WHERE status = 'todo';
CREATE INDEX procrastinate_jobs_id_lock_idx_v1 ON procrastinate_jobs (id, lock) WHERE status IN ('todo', 'doing');
CREATE INDEX procrastinate_jobs_queue_name_idx_v1 ON procrastinate_jobs (queue_name);
CREATE INDEX idx_procrastinate_jobs_worker_not_null ON procrastinate_jobs (worker_id) WHERE worker_id IS NOT NULL AND status = 'doing';

CREATE TABLE procrastinate_events (
    id bigserial PRIMARY KEY,
    job_id bigint NOT NULL REFERENCES procrastinate_jobs ON DELETE CASCADE,
    type procrastinate_job_event_type,
    at timestamptz DEFAULT now()
);
CREATE INDEX procrastinate_events_job_id_fkey_v1 ON procrastinate_events (job_id);

CREATE TABLE procrastinate_periodic_defers (
    id bigserial PRIMARY KEY,
    task_name varchar(128) NOT NULL,
    defer_timestamp bigint,
    job_id bigint REFERENCES procrastinate_jobs,
    periodic_id varchar(128) NOT NULL DEFAULT '',
    CONSTRAINT procrastinate_periodic_defers_unique UNIQUE (task_name, periodic_id, defer_timestamp)
);
CREATE INDEX procrastinate_periodic_defers_job_id_fkey_v1 ON procrastinate_periodic_defers (job_id);

-- An event for each change of status. A change that the engine does not make itself, such as succeeded to todo, has none.
CREATE FUNCTION procrastinate_trigger_function_status_events_update_v1() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    event text := CASE OLD.status || ' ' || NEW.status
        WHEN 'todo doing' THEN 'started' WHEN 'doing todo' THEN 'deferred_for_retry' WHEN 'failed todo' THEN 'retried'
        WHEN 'doing failed' THEN 'failed' WHEN 'doing succeeded' THEN 'succeeded' WHEN 'doing aborted' THEN 'aborted'
        WHEN 'todo cancelled' THEN 'cancelled' WHEN 'todo failed' THEN 'cancelled' WHEN 'todo succeeded' THEN 'cancelled' END;
BEGIN
    IF event IS NOT NULL THEN
        INSERT INTO procrastinate_events (job_id, type) VALUES (NEW.id, event::procrastinate_job_event_type);
    END IF;
    RETURN NEW;
END $$;

CREATE FUNCTION procrastinate_trigger_function_status_events_insert_v1() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO procrastinate_events (job_id, type) VALUES (NEW.id, 'deferred');
    RETURN NEW;
END $$;

CREATE FUNCTION procrastinate_trigger_function_scheduled_events_v1() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO procrastinate_events (job_id, type, at) VALUES (NEW.id, 'scheduled', NEW.scheduled_at);
    RETURN NEW;
END $$;

CREATE FUNCTION procrastinate_trigger_abort_requested_events_procedure_v1() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO procrastinate_events (job_id, type) VALUES (NEW.id, 'abort_requested');
    RETURN NEW;
END $$;

CREATE FUNCTION procrastinate_notify_queue_job_inserted_v1() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM pg_notify(c, json_build_object('type', 'job_inserted', 'job_id', NEW.id)::text)
       FROM unnest(ARRAY['procrastinate_queue_v1#' || NEW.queue_name, 'procrastinate_any_queue_v1']) AS c;
    RETURN NEW;
END $$;

CREATE FUNCTION procrastinate_notify_queue_abort_job_v1() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM pg_notify(c, json_build_object('type', 'abort_job_requested', 'job_id', NEW.id)::text)
       FROM unnest(ARRAY['procrastinate_queue_v1#' || NEW.queue_name, 'procrastinate_any_queue_v1']) AS c;
    RETURN NEW;
END $$;

CREATE FUNCTION procrastinate_unlink_periodic_defers_v1() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE procrastinate_periodic_defers SET job_id = NULL WHERE job_id = OLD.id;
    RETURN OLD;
END $$;

CREATE TRIGGER procrastinate_jobs_notify_queue_job_inserted_v1 AFTER INSERT ON procrastinate_jobs
    FOR EACH ROW WHEN (NEW.status = 'todo') EXECUTE FUNCTION procrastinate_notify_queue_job_inserted_v1();
CREATE TRIGGER procrastinate_jobs_notify_queue_job_aborted_v1 AFTER UPDATE OF abort_requested ON procrastinate_jobs
    FOR EACH ROW WHEN (OLD.abort_requested = false AND NEW.abort_requested = true AND NEW.status = 'doing')
    EXECUTE FUNCTION procrastinate_notify_queue_abort_job_v1();
CREATE TRIGGER procrastinate_trigger_status_events_update_v1 AFTER UPDATE OF status ON procrastinate_jobs
    FOR EACH ROW EXECUTE FUNCTION procrastinate_trigger_function_status_events_update_v1();
CREATE TRIGGER procrastinate_trigger_status_events_insert_v1 AFTER INSERT ON procrastinate_jobs
    FOR EACH ROW WHEN (NEW.status = 'todo') EXECUTE FUNCTION procrastinate_trigger_function_status_events_insert_v1();
CREATE TRIGGER procrastinate_trigger_scheduled_events_v1 AFTER INSERT OR UPDATE ON procrastinate_jobs
    FOR EACH ROW WHEN (NEW.scheduled_at IS NOT NULL AND NEW.status = 'todo') EXECUTE FUNCTION procrastinate_trigger_function_scheduled_events_v1();
CREATE TRIGGER procrastinate_trigger_abort_requested_events_v1 AFTER UPDATE OF abort_requested ON procrastinate_jobs
    FOR EACH ROW WHEN (NEW.abort_requested = true) EXECUTE FUNCTION procrastinate_trigger_abort_requested_events_procedure_v1();
CREATE TRIGGER procrastinate_trigger_delete_jobs_v1 BEFORE DELETE ON procrastinate_jobs
    FOR EACH ROW EXECUTE FUNCTION procrastinate_unlink_periodic_defers_v1();
