-- The engine's table and functions, for the demo and the tests. Tables that reference tasks have only the columns that do so.
-- All objects are created in the first schema of the search_path; the engine has `flowid` in `public` and the rest in
-- `internal`. Parameters: none.
--
-- `flowid` has a default: an INSERT without parent_id gets a new id as parent_id, which belongs to no task.

CREATE SEQUENCE shard_0_id_sequence;
CREATE DOMAIN flowid AS macaddr8;

-- 41 bits of milliseconds since 1600000000, 13 bits of a sequence, 10 bits of a shard (0: this database).
CREATE FUNCTION id_generator() RETURNS flowid
LANGUAGE sql VOLATILE
SET search_path FROM CURRENT
AS $$
  SELECT lpad(to_hex((floor((extract(epoch FROM clock_timestamp()) - 1600000000) * 1000)::bigint << 23)
                     | ((nextval('shard_0_id_sequence') % 8192) << 10)), 16, '0')::macaddr8
$$;
ALTER DOMAIN flowid SET DEFAULT id_generator();

CREATE TABLE tasks (
    task_id flowid PRIMARY KEY NOT NULL,
    task_type smallint NOT NULL,
    parent_id flowid,
    inner_state json,
    wake_at timestamptz,
    inbox json[],
    inbox_next json[],
    heartbeat timestamptz NOT NULL DEFAULT '0001-01-01T00:00:00Z'
);
CREATE INDEX idx_tasks_ready_at ON tasks USING btree (wake_at) INCLUDE (task_type);
COMMENT ON TABLE tasks IS 'Tasks of the "automations" executors: coroutines with an inbox, polled by at most one executor at a time.';

CREATE FUNCTION create_task(p_task_id flowid, p_task_type smallint, p_parent_id flowid) RETURNS void
LANGUAGE plpgsql
SET search_path FROM CURRENT
AS $$
BEGIN
  INSERT INTO tasks (task_id, task_type, parent_id) VALUES (p_task_id, p_task_type, p_parent_id);
END;
$$;

-- A message to an idle task goes to inbox, during a poll to inbox_next. A message to a missing task is lost.
CREATE FUNCTION send_to_task(p_task_id flowid, p_from_id flowid, p_message json) RETURNS void
LANGUAGE plpgsql
SET search_path FROM CURRENT
AS $$
BEGIN
  UPDATE tasks SET
      wake_at = least(wake_at, now()),
      inbox = CASE WHEN heartbeat = '0001-01-01T00:00:00Z'
                   THEN array_append(inbox, json_build_array(p_from_id, p_message)) ELSE inbox END,
      inbox_next = CASE WHEN heartbeat = '0001-01-01T00:00:00Z'
                        THEN inbox_next ELSE array_append(inbox_next, json_build_array(p_from_id, p_message)) END
   WHERE task_id = p_task_id;
END;
$$;

CREATE TABLE live_specs (
    id flowid PRIMARY KEY NOT NULL,
    catalog_name text NOT NULL,
    controller_task_id flowid DEFAULT NULL UNIQUE REFERENCES tasks (task_id)
);

CREATE TABLE tenants (
    tenant text PRIMARY KEY NOT NULL,
    controller_task_id flowid DEFAULT NULL
);

-- The ids are ids of ALERT_NOTIFICATIONS tasks.
CREATE TABLE alert_history (
    id flowid PRIMARY KEY NOT NULL,
    catalog_name text NOT NULL,
    fired_at timestamptz NOT NULL DEFAULT now(),
    resolved_at timestamptz
);

-- The ids are ids of PUBLICATIONS tasks.
CREATE TABLE publications (
    id flowid PRIMARY KEY NOT NULL,
    job_status json NOT NULL DEFAULT '{"type": "queued"}'
);

CREATE TABLE data_planes (
    id flowid PRIMARY KEY NOT NULL,
    data_plane_name text NOT NULL,
    controller_task_id flowid DEFAULT NULL
);
