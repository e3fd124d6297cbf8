-- Replacement for the extension pgmq, which stores the engine's messages. It has the schema, tables, columns and
-- functions that the engine and the console use, in plain SQL, so that it works on any server. As in pgmq, the table of
-- a queue has a lower-case name, and pgmq.meta keeps the original name.

CREATE SCHEMA pgmq;

CREATE TABLE pgmq.meta (
    queue_name varchar NOT NULL UNIQUE,
    is_partitioned boolean NOT NULL,
    is_unlogged boolean NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now()
);

CREATE TYPE pgmq.message_record AS
    (msg_id bigint, read_ct integer, enqueued_at timestamptz, vt timestamptz, message jsonb, headers jsonb);

CREATE FUNCTION pgmq.create(queue_name text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    IF EXISTS (SELECT FROM pgmq.meta m WHERE m.queue_name = $1) THEN
        RETURN;
    END IF;
    EXECUTE format('CREATE TABLE pgmq.%I (msg_id bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY, read_ct integer NOT NULL DEFAULT 0,'
                   ' enqueued_at timestamptz NOT NULL DEFAULT now(), vt timestamptz NOT NULL, message jsonb, headers jsonb)',
                   lower('q_' || queue_name));
    EXECUTE format('CREATE INDEX ON pgmq.%I (vt)', lower('q_' || queue_name));
    EXECUTE format('CREATE TABLE pgmq.%I (msg_id bigint PRIMARY KEY, read_ct integer NOT NULL DEFAULT 0,'
                   ' enqueued_at timestamptz NOT NULL DEFAULT now(), archived_at timestamptz NOT NULL DEFAULT now(),'
                   ' vt timestamptz NOT NULL, message jsonb, headers jsonb)', lower('a_' || queue_name));
    INSERT INTO pgmq.meta VALUES (queue_name, false, false);
END $$;

CREATE FUNCTION pgmq.send(queue_name text, msg jsonb, delay integer DEFAULT 0) RETURNS SETOF bigint LANGUAGE plpgsql AS $$
BEGIN
    RETURN QUERY EXECUTE format(
        'INSERT INTO pgmq.%I (vt, message) VALUES (clock_timestamp() + make_interval(secs => $2), $1) RETURNING msg_id',
        lower('q_' || queue_name)) USING msg, delay;
END $$;

CREATE FUNCTION pgmq.read(queue_name text, vt integer, qty integer) RETURNS SETOF pgmq.message_record LANGUAGE plpgsql AS $$
BEGIN
    RETURN QUERY EXECUTE format(
        'UPDATE pgmq.%1$I m SET vt = clock_timestamp() + make_interval(secs => $1), read_ct = m.read_ct + 1 FROM'
        ' (SELECT msg_id FROM pgmq.%1$I WHERE vt <= clock_timestamp() ORDER BY msg_id LIMIT $2 FOR UPDATE SKIP LOCKED) AS taken'
        ' WHERE m.msg_id = taken.msg_id RETURNING m.msg_id, m.read_ct, m.enqueued_at, m.vt, m.message, m.headers',
        lower('q_' || queue_name)) USING vt, qty;
END $$;

CREATE FUNCTION pgmq.archive(queue_name text, msg_id bigint) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
    moved bigint;
BEGIN
    EXECUTE format(
        'WITH gone AS (DELETE FROM pgmq.%I WHERE msg_id = $1 RETURNING msg_id, read_ct, enqueued_at, vt, message, headers)'
        ' INSERT INTO pgmq.%I (msg_id, read_ct, enqueued_at, vt, message, headers) SELECT * FROM gone RETURNING msg_id',
        lower('q_' || queue_name), lower('a_' || queue_name)) INTO moved USING msg_id;
    RETURN moved IS NOT NULL;
END $$;

CREATE FUNCTION pgmq.delete(queue_name text, msg_id bigint) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
    gone bigint;
BEGIN
    EXECUTE format('DELETE FROM pgmq.%I WHERE msg_id = $1 RETURNING msg_id', lower('q_' || queue_name)) INTO gone USING msg_id;
    RETURN gone IS NOT NULL;
END $$;

-- The engine's own function, in its schema: send a message and notify the listeners.
CREATE FUNCTION pgmq_send_with_notify(queue_name text, message jsonb, delay_seconds integer DEFAULT 0)
RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    sent bigint;
BEGIN
    SELECT s INTO sent FROM pgmq.send(queue_name, message, delay_seconds) AS s;
    PERFORM pg_notify('pgmq_message_ready', jsonb_build_object('queue_name', queue_name, 'msg_id', sent)::text);
    RETURN sent;
END $$;

SELECT pgmq.create(q) FROM unnest(ARRAY['orchestration_task_requests', 'orchestration_task_finalizations',
                                        'orchestration_step_results']) AS q;
