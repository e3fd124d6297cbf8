-- The engine's tables and those of its functions that matter here, for the demo and the tests.
-- Everything is created in the first schema of the search_path; the engine's own is called tasker. Parameters: none.
--
-- Names, types, checks, unique rules and indexes are the engine's; the bodies of its functions are retold, traps
-- included: nothing sets its own search_path, all times are without a zone, readiness looks parents up among the steps
-- it was asked for, discovery forgets a task that has waited for an hour. Left out are analytics, dashboards and what
-- belongs to the message queue.

CREATE TYPE dlq_reason AS ENUM
    ('staleness_timeout', 'max_retries_exceeded', 'dependency_cycle_detected', 'worker_unavailable', 'manual_dlq');
CREATE TYPE dlq_resolution_status AS ENUM ('pending', 'manually_resolved', 'permanently_failed', 'cancelled');
CREATE TYPE identity_strategy AS ENUM ('strict', 'caller_provided', 'always_unique');

-- Ids are UUID v7, so their order is that of time. The server makes them from 18 on; before, an extension or this.
DO $$ BEGIN
    IF current_setting('server_version_num')::int >= 180000 THEN
        CREATE FUNCTION uuid_generate_v7() RETURNS uuid LANGUAGE sql VOLATILE AS 'SELECT uuidv7()';
    ELSE
        CREATE FUNCTION uuid_generate_v7() RETURNS uuid LANGUAGE sql VOLATILE AS $body$
            SELECT encode(set_byte(set_byte(b, 6, (get_byte(b, 6) & 15) | 112), 8, (get_byte(b, 8) & 63) | 128), 'hex')::uuid
              FROM (SELECT substring(int8send((extract(epoch FROM clock_timestamp()) * 1000)::int8) FROM 3)
                           || substring(uuid_send(gen_random_uuid()) FROM 7) AS b) AS made
        $body$;
    END IF;
END $$;

CREATE TABLE task_namespaces (
    task_namespace_uuid uuid NOT NULL DEFAULT uuid_generate_v7() PRIMARY KEY,
    name varchar(64) NOT NULL UNIQUE,
    description varchar(255),
    created_at timestamp NOT NULL,
    updated_at timestamp NOT NULL
);

CREATE TABLE named_tasks (
    named_task_uuid uuid NOT NULL DEFAULT uuid_generate_v7() PRIMARY KEY,
    task_namespace_uuid uuid NOT NULL REFERENCES task_namespaces (task_namespace_uuid),
    name varchar(64) NOT NULL,
    description varchar(255),
    version varchar(16) NOT NULL DEFAULT '0.1.0',
    configuration jsonb DEFAULT '{}',
    identity_strategy identity_strategy NOT NULL DEFAULT 'strict',
    created_at timestamp NOT NULL,
    updated_at timestamp NOT NULL,
    UNIQUE (task_namespace_uuid, name, version)
);
CREATE INDEX idx_named_tasks_namespace ON named_tasks (task_namespace_uuid);

CREATE TABLE named_steps (
    named_step_uuid uuid NOT NULL DEFAULT uuid_generate_v7() PRIMARY KEY,
    name varchar(128) NOT NULL UNIQUE,
    description varchar(255),
    created_at timestamp NOT NULL,
    updated_at timestamp NOT NULL
);

CREATE TABLE named_tasks_named_steps (
    ntns_uuid uuid NOT NULL DEFAULT uuid_generate_v7() PRIMARY KEY,
    named_task_uuid uuid NOT NULL REFERENCES named_tasks (named_task_uuid),
    named_step_uuid uuid NOT NULL REFERENCES named_steps (named_step_uuid),
    default_retryable boolean NOT NULL DEFAULT true,
    default_max_attempts integer NOT NULL DEFAULT 3,
    created_at timestamp NOT NULL,
    updated_at timestamp NOT NULL,
    UNIQUE (named_task_uuid, named_step_uuid)
);

CREATE TABLE tasks (
    task_uuid uuid NOT NULL DEFAULT uuid_generate_v7() PRIMARY KEY,
    named_task_uuid uuid NOT NULL REFERENCES named_tasks (named_task_uuid),
    -- True for state `complete` alone; tasks in error, cancelled or resolved by hand keep false for ever
    complete boolean NOT NULL DEFAULT false,
    requested_at timestamp NOT NULL,
    -- Never written by the engine
    completed_at timestamp,
    initiator varchar(128),
    source_system varchar(128),
    reason varchar(128),
    tags jsonb,
    context jsonb,
    identity_hash varchar(128) NOT NULL UNIQUE,
    priority integer NOT NULL DEFAULT 0,
    created_at timestamp NOT NULL,
    updated_at timestamp NOT NULL,
    correlation_id uuid NOT NULL,
    parent_correlation_id uuid
);
CREATE INDEX idx_tasks_active_with_priority_covering ON tasks (complete, priority, task_uuid)
    INCLUDE (named_task_uuid, requested_at) WHERE complete = false;
CREATE INDEX idx_tasks_complete ON tasks (complete);
CREATE INDEX idx_tasks_correlation_id ON tasks (correlation_id);
CREATE INDEX idx_tasks_parent_correlation_id ON tasks (parent_correlation_id) WHERE parent_correlation_id IS NOT NULL;
CREATE INDEX idx_tasks_named_task_uuid ON tasks (named_task_uuid);
CREATE INDEX idx_tasks_requested_at ON tasks (requested_at);
CREATE INDEX idx_tasks_tags_gin_path ON tasks USING gin (tags jsonb_path_ops);

CREATE TABLE workflow_steps (
    workflow_step_uuid uuid NOT NULL DEFAULT uuid_generate_v7() PRIMARY KEY,
    task_uuid uuid NOT NULL REFERENCES tasks (task_uuid),
    named_step_uuid uuid NOT NULL REFERENCES named_steps (named_step_uuid),
    retryable boolean NOT NULL DEFAULT true,
    -- Attempts in all, not retries; NULL counts as 3
    max_attempts integer DEFAULT 3,
    in_process boolean NOT NULL DEFAULT false,
    processed boolean NOT NULL DEFAULT false,
    processed_at timestamp,
    attempts integer,
    -- Set when the step is claimed, and again when its result is taken in
    last_attempted_at timestamp,
    backoff_request_seconds integer,
    inputs jsonb,
    results jsonb,
    created_at timestamp NOT NULL,
    updated_at timestamp NOT NULL,
    priority integer NOT NULL DEFAULT 0,
    checkpoint jsonb,
    UNIQUE (task_uuid, named_step_uuid)
);
CREATE INDEX idx_workflow_steps_task_covering ON workflow_steps (task_uuid)
    INCLUDE (workflow_step_uuid, processed, in_process, attempts, max_attempts);
CREATE INDEX idx_workflow_steps_ready_covering ON workflow_steps (task_uuid, processed, in_process)
    INCLUDE (workflow_step_uuid, attempts, max_attempts, retryable) WHERE processed = false;
CREATE INDEX idx_workflow_steps_task_readiness ON workflow_steps (task_uuid, processed, workflow_step_uuid) WHERE processed = false;
CREATE INDEX idx_workflow_steps_active_operations ON workflow_steps (workflow_step_uuid, task_uuid) WHERE processed = false;
CREATE INDEX idx_workflow_steps_named_step ON workflow_steps (named_step_uuid);
CREATE INDEX idx_workflow_steps_processed_at ON workflow_steps (processed_at);

CREATE TABLE workflow_step_edges (
    workflow_step_edge_uuid uuid NOT NULL DEFAULT uuid_generate_v7() PRIMARY KEY,
    from_step_uuid uuid NOT NULL REFERENCES workflow_steps (workflow_step_uuid),
    to_step_uuid uuid NOT NULL REFERENCES workflow_steps (workflow_step_uuid),
    name varchar(128) NOT NULL,
    created_at timestamp NOT NULL,
    updated_at timestamp NOT NULL,
    UNIQUE (from_step_uuid, to_step_uuid, name)
);
CREATE INDEX idx_workflow_step_edges_from ON workflow_step_edges (from_step_uuid);
CREATE INDEX idx_workflow_step_edges_to ON workflow_step_edges (to_step_uuid);

CREATE TABLE task_transitions (
    task_transition_uuid uuid NOT NULL DEFAULT uuid_generate_v7() PRIMARY KEY,
    task_uuid uuid NOT NULL REFERENCES tasks (task_uuid),
    to_state varchar NOT NULL,
    from_state varchar,
    -- The engine's own code writes `metadata`, its SQL functions write `transition_metadata`
    metadata jsonb DEFAULT '{}',
    sort_key integer NOT NULL,
    most_recent boolean NOT NULL DEFAULT false,
    created_at timestamp NOT NULL,
    updated_at timestamp NOT NULL,
    processor_uuid uuid,
    transition_metadata jsonb DEFAULT '{}',
    CONSTRAINT chk_task_transitions_to_state CHECK (to_state IN (
        'pending', 'initializing', 'enqueuing_steps', 'steps_in_process', 'evaluating_results', 'waiting_for_dependencies',
        'waiting_for_retry', 'blocked_by_failures', 'complete', 'error', 'cancelled', 'resolved_manually')),
    CONSTRAINT chk_task_transitions_from_state CHECK (from_state IS NULL OR from_state IN (
        'pending', 'initializing', 'enqueuing_steps', 'steps_in_process', 'evaluating_results', 'waiting_for_dependencies',
        'waiting_for_retry', 'blocked_by_failures', 'complete', 'error', 'cancelled', 'resolved_manually'))
);
CREATE UNIQUE INDEX idx_task_transitions_uuid_most_recent ON task_transitions (task_uuid, most_recent) WHERE most_recent = true;
CREATE INDEX idx_task_transitions_state_lookup ON task_transitions (task_uuid, to_state, most_recent) WHERE most_recent = true;
CREATE INDEX idx_task_transitions_sort_key ON task_transitions (task_uuid, sort_key);
CREATE INDEX idx_task_transitions_task ON task_transitions (task_uuid);
CREATE INDEX idx_task_transitions_most_recent ON task_transitions (most_recent) WHERE most_recent = true;

CREATE TABLE workflow_step_transitions (
    workflow_step_transition_uuid uuid NOT NULL DEFAULT uuid_generate_v7() PRIMARY KEY,
    workflow_step_uuid uuid NOT NULL REFERENCES workflow_steps (workflow_step_uuid),
    to_state varchar NOT NULL,
    from_state varchar,
    metadata jsonb DEFAULT '{}',
    sort_key integer NOT NULL,
    most_recent boolean NOT NULL DEFAULT false,
    created_at timestamp NOT NULL,
    updated_at timestamp NOT NULL,
    CONSTRAINT chk_workflow_step_transitions_to_state CHECK (to_state IN (
        'pending', 'enqueued', 'in_progress', 'enqueued_for_orchestration', 'enqueued_as_error_for_orchestration',
        'waiting_for_retry', 'complete', 'error', 'cancelled', 'resolved_manually')),
    CONSTRAINT chk_workflow_step_transitions_from_state CHECK (from_state IS NULL OR from_state IN (
        'pending', 'enqueued', 'in_progress', 'enqueued_for_orchestration', 'enqueued_as_error_for_orchestration',
        'waiting_for_retry', 'complete', 'error', 'cancelled', 'resolved_manually'))
);
CREATE UNIQUE INDEX idx_workflow_step_transitions_uuid_most_recent
  ON workflow_step_transitions (workflow_step_uuid, most_recent) WHERE most_recent = true;
CREATE INDEX idx_workflow_step_transitions_state_lookup
    ON workflow_step_transitions (workflow_step_uuid, to_state, most_recent) WHERE most_recent = true;
CREATE INDEX idx_workflow_step_transitions_sort_key ON workflow_step_transitions (workflow_step_uuid, sort_key);
CREATE INDEX idx_workflow_step_transitions_step ON workflow_step_transitions (workflow_step_uuid);
CREATE INDEX idx_workflow_step_transitions_most_recent ON workflow_step_transitions (most_recent) WHERE most_recent = true;

CREATE TABLE workflow_step_result_audit (
    workflow_step_result_audit_uuid uuid NOT NULL DEFAULT uuid_generate_v7() PRIMARY KEY,
    workflow_step_uuid uuid NOT NULL REFERENCES workflow_steps (workflow_step_uuid),
    workflow_step_transition_uuid uuid NOT NULL REFERENCES workflow_step_transitions (workflow_step_transition_uuid),
    task_uuid uuid NOT NULL REFERENCES tasks (task_uuid),
    recorded_at timestamp NOT NULL DEFAULT now(),
    worker_uuid uuid,
    correlation_id uuid,
    success boolean NOT NULL,
    execution_time_ms bigint,
    created_at timestamp NOT NULL DEFAULT now(),
    updated_at timestamp NOT NULL DEFAULT now(),
    UNIQUE (workflow_step_uuid, workflow_step_transition_uuid)
);
CREATE INDEX idx_audit_recorded_at ON workflow_step_result_audit (recorded_at);
CREATE INDEX idx_audit_step ON workflow_step_result_audit (workflow_step_uuid);
CREATE INDEX idx_audit_task ON workflow_step_result_audit (task_uuid);

CREATE TABLE tasks_dlq (
    dlq_entry_uuid uuid NOT NULL DEFAULT uuid_generate_v7() PRIMARY KEY,
    task_uuid uuid NOT NULL REFERENCES tasks (task_uuid),
    original_state varchar(50) NOT NULL,
    dlq_reason dlq_reason NOT NULL,
    dlq_timestamp timestamp NOT NULL DEFAULT now(),
    resolution_status dlq_resolution_status NOT NULL DEFAULT 'pending',
    resolution_timestamp timestamp,
    resolution_notes text,
    resolved_by varchar(255),
    task_snapshot jsonb NOT NULL,
    metadata jsonb,
    created_at timestamp NOT NULL DEFAULT now(),
    updated_at timestamp NOT NULL DEFAULT now()
);
CREATE UNIQUE INDEX idx_dlq_unique_pending_task ON tasks_dlq (task_uuid) WHERE resolution_status = 'pending';
CREATE INDEX idx_dlq_reason ON tasks_dlq (dlq_reason);
CREATE INDEX idx_dlq_status_timestamp ON tasks_dlq (resolution_status, dlq_timestamp);
CREATE INDEX idx_dlq_task ON tasks_dlq (task_uuid);
CREATE INDEX idx_dlq_timestamp ON tasks_dlq (dlq_timestamp DESC);

-- Open letters, most urgent first. Names and states are those of the snapshot; the time in state is the metadata's.
CREATE VIEW v_dlq_investigation_queue AS
SELECT d.dlq_entry_uuid, d.task_uuid, d.original_state, d.dlq_reason, d.dlq_timestamp, w.minutes AS minutes_in_dlq,
       d.task_snapshot ->> 'namespace' AS namespace_name, d.task_snapshot ->> 'task_name' AS task_name,
       d.task_snapshot ->> 'current_state' AS current_state, (d.metadata ->> 'time_in_state_minutes')::integer AS time_in_state_minutes,
       w.minutes + CASE d.dlq_reason WHEN 'dependency_cycle_detected' THEN 1000 WHEN 'max_retries_exceeded' THEN 500
                                     WHEN 'staleness_timeout' THEN 100 WHEN 'worker_unavailable' THEN 50 ELSE 10 END AS priority_score
  FROM tasks_dlq d CROSS JOIN LATERAL (SELECT extract(epoch FROM now() - d.dlq_timestamp) / 60 AS minutes) AS w
 WHERE d.resolution_status = 'pending'
 ORDER BY priority_score DESC;

-- Triggers

CREATE FUNCTION update_updated_at_column() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    NEW.updated_at = CURRENT_TIMESTAMP;
    RETURN NEW;
END $$;

CREATE TRIGGER update_dlq_updated_at BEFORE UPDATE ON tasks_dlq
    FOR EACH ROW EXECUTE FUNCTION update_updated_at_column();

-- One audit row for each result that a worker hands in. The event is read one level too high, so the execution time
-- is always NULL and success always follows from the state: as in the engine.
CREATE FUNCTION create_step_result_audit() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    event jsonb;
    worker uuid;
    correlation uuid;
BEGIN
    IF NEW.to_state NOT IN ('enqueued_for_orchestration', 'enqueued_as_error_for_orchestration') THEN
        RETURN NEW;
    END IF;
    BEGIN
        event := (NEW.metadata ->> 'event')::jsonb;
        worker := (NEW.metadata ->> 'worker_uuid')::uuid;
        correlation := (NEW.metadata ->> 'correlation_id')::uuid;
    EXCEPTION WHEN OTHERS THEN
        NULL;
    END;
    INSERT INTO workflow_step_result_audit
           (workflow_step_uuid, workflow_step_transition_uuid, task_uuid, worker_uuid, correlation_id, success, execution_time_ms)
    SELECT NEW.workflow_step_uuid, NEW.workflow_step_transition_uuid, s.task_uuid, worker, correlation,
           coalesce((event ->> 'success')::boolean, NEW.to_state = 'enqueued_for_orchestration'),
           (event -> 'metadata' ->> 'execution_time_ms')::bigint
      FROM workflow_steps s WHERE s.workflow_step_uuid = NEW.workflow_step_uuid;
    RETURN NEW;
END $$;

CREATE TRIGGER trg_step_result_audit AFTER INSERT ON workflow_step_transitions
    FOR EACH ROW EXECUTE FUNCTION create_step_result_audit();

-- State changes

-- Moves a task on only if it is in the state that is expected. True where it was.
CREATE FUNCTION transition_task_state_atomic(
    p_task_uuid uuid, p_from_state varchar, p_to_state varchar, p_processor_uuid uuid, p_metadata jsonb DEFAULT '{}'
) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
    next_key integer;
    inserted integer;
BEGIN
    SELECT coalesce(max(sort_key), 0) + 1 INTO next_key FROM task_transitions WHERE task_uuid = p_task_uuid;
    WITH seen AS (
        SELECT to_state FROM task_transitions WHERE task_uuid = p_task_uuid AND most_recent = true FOR UPDATE
    ), left_behind AS (
        UPDATE task_transitions SET most_recent = false
         WHERE task_uuid = p_task_uuid AND most_recent = true AND EXISTS (SELECT FROM seen WHERE to_state = p_from_state)
        RETURNING task_uuid
    )
    INSERT INTO task_transitions (task_uuid, from_state, to_state, processor_uuid, transition_metadata,
                                  sort_key, most_recent, created_at, updated_at)
    SELECT p_task_uuid, p_from_state, p_to_state, p_processor_uuid, p_metadata, next_key, true, now(), now()
     WHERE EXISTS (SELECT FROM left_behind);
    GET DIAGNOSTICS inserted = ROW_COUNT;
    RETURN inserted > 0;
END $$;

CREATE FUNCTION set_step_backoff_atomic(p_step_uuid uuid, p_backoff_seconds integer) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
    UPDATE workflow_steps SET backoff_request_seconds = p_backoff_seconds, last_attempted_at = now(), updated_at = now()
     WHERE workflow_step_uuid = p_step_uuid;
    RETURN FOUND;
END $$;

-- Readiness

CREATE FUNCTION calculate_step_next_retry_time(
    backoff_request_seconds integer, last_attempted_at timestamp, failure_time timestamp, attempts integer,
    p_max_backoff_seconds integer DEFAULT 60, p_backoff_multiplier numeric DEFAULT 2.0
) RETURNS timestamp LANGUAGE sql STABLE AS $$
    SELECT CASE
        WHEN backoff_request_seconds IS NOT NULL AND last_attempted_at IS NOT NULL
            THEN last_attempted_at + backoff_request_seconds * interval '1 second'
        WHEN failure_time IS NOT NULL
            THEN failure_time + least(power(p_backoff_multiplier, coalesce(attempts, 1)), p_max_backoff_seconds) * interval '1 second'
    END
$$;

CREATE FUNCTION evaluate_step_state_readiness(
    current_state text, processed boolean, in_process boolean, dependencies_satisfied boolean, retry_eligible boolean,
    retryable boolean, next_retry_time timestamp
) RETURNS boolean LANGUAGE sql STABLE AS $$
    SELECT coalesce(current_state, 'pending') IN ('pending', 'waiting_for_retry')
       AND NOT coalesce(processed, false) AND NOT coalesce(in_process, false)
       AND dependencies_satisfied AND retry_eligible
       AND (next_retry_time IS NULL OR next_retry_time <= now())
$$;

-- With step_uuids given, parents outside them count as not done: ask for all or believe nothing of `dependencies_satisfied`.
CREATE FUNCTION get_step_readiness_status_batch(input_task_uuids uuid[], step_uuids uuid[] DEFAULT NULL)
RETURNS TABLE (workflow_step_uuid uuid, task_uuid uuid, named_step_uuid uuid, name text, current_state text,
               dependencies_satisfied boolean, retry_eligible boolean, ready_for_execution boolean,
               last_failure_at timestamp, next_retry_at timestamp, total_parents integer, completed_parents integer,
               attempts integer, max_attempts integer, backoff_request_seconds integer, last_attempted_at timestamp)
LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN QUERY
    WITH asked AS (
        SELECT s.* FROM workflow_steps s
         WHERE s.task_uuid = ANY (input_task_uuids) AND (step_uuids IS NULL OR s.workflow_step_uuid = ANY (step_uuids))
    ), states AS (
        SELECT x.workflow_step_uuid, x.to_state
          FROM asked a JOIN workflow_step_transitions x ON x.workflow_step_uuid = a.workflow_step_uuid AND x.most_recent
    ), failures AS (
        SELECT x.workflow_step_uuid, max(x.created_at) AS failed_at
          FROM asked a JOIN workflow_step_transitions x ON x.workflow_step_uuid = a.workflow_step_uuid AND x.to_state = 'error'
         GROUP BY x.workflow_step_uuid
    ), parents AS (
        SELECT e.to_step_uuid, count(*) AS total,
               count(*) FILTER (WHERE p.to_state IN ('complete', 'resolved_manually')) AS done
          FROM asked a JOIN workflow_step_edges e ON e.to_step_uuid = a.workflow_step_uuid
          LEFT JOIN states p ON p.workflow_step_uuid = e.from_step_uuid
         GROUP BY e.to_step_uuid
    ), judged AS (
        SELECT a.*, coalesce(x.to_state, 'pending') AS state, f.failed_at, p.total, p.done,
               (p.total IS NULL OR p.done = p.total) AS satisfied,
               (coalesce(a.attempts, 0) = 0
                OR (coalesce(a.retryable, true) AND coalesce(a.attempts, 0) < coalesce(a.max_attempts, 3))) AS eligible,
               calculate_step_next_retry_time(a.backoff_request_seconds, a.last_attempted_at, f.failed_at, a.attempts) AS retry_at
          FROM asked a
          LEFT JOIN states x ON x.workflow_step_uuid = a.workflow_step_uuid
          LEFT JOIN failures f ON f.workflow_step_uuid = a.workflow_step_uuid
          LEFT JOIN parents p ON p.to_step_uuid = a.workflow_step_uuid
    )
    SELECT j.workflow_step_uuid, j.task_uuid, j.named_step_uuid, n.name::text, j.state::text, j.satisfied, j.eligible,
           evaluate_step_state_readiness(j.state::text, j.processed, j.in_process, j.satisfied, j.eligible, j.retryable, j.retry_at),
           j.failed_at, j.retry_at, coalesce(j.total, 0)::integer, coalesce(j.done, 0)::integer,
           coalesce(j.attempts, 0), coalesce(j.max_attempts, 3), j.backoff_request_seconds, j.last_attempted_at
      FROM judged j JOIN named_steps n ON n.named_step_uuid = j.named_step_uuid
     ORDER BY j.task_uuid, j.workflow_step_uuid;
END $$;

CREATE FUNCTION get_step_readiness_status(input_task_uuid uuid, step_uuids uuid[] DEFAULT NULL)
RETURNS TABLE (workflow_step_uuid uuid, task_uuid uuid, named_step_uuid uuid, name text, current_state text,
               dependencies_satisfied boolean, retry_eligible boolean, ready_for_execution boolean,
               last_failure_at timestamp, next_retry_at timestamp, total_parents integer, completed_parents integer,
               attempts integer, max_attempts integer, backoff_request_seconds integer, last_attempted_at timestamp)
LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN QUERY SELECT * FROM get_step_readiness_status_batch(ARRAY[input_task_uuid], step_uuids);
END $$;

-- Cancelled steps and such as wait for a retry count in the total and in no other number.
CREATE FUNCTION get_task_execution_contexts_batch(input_task_uuids uuid[])
RETURNS TABLE (task_uuid uuid, named_task_uuid uuid, status text, total_steps bigint, pending_steps bigint,
               in_progress_steps bigint, completed_steps bigint, failed_steps bigint, ready_steps bigint,
               execution_status text, recommended_action text, completion_percentage numeric, health_status text,
               enqueued_steps bigint)
LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN QUERY
    WITH counted AS (
        SELECT t.task_uuid, t.named_task_uuid, coalesce(x.to_state, 'pending')::text AS state, count(r.workflow_step_uuid) AS total,
               count(*) FILTER (WHERE r.current_state = 'pending') AS pending,
               count(*) FILTER (WHERE r.current_state = 'in_progress') AS running,
               count(*) FILTER (WHERE r.current_state IN ('complete', 'resolved_manually')) AS completed,
               count(*) FILTER (WHERE r.current_state = 'error') AS failed,
               count(*) FILTER (WHERE r.ready_for_execution) AS ready,
               count(*) FILTER (WHERE r.current_state LIKE 'enqueued%') AS enqueued
          FROM tasks t
          LEFT JOIN task_transitions x ON x.task_uuid = t.task_uuid AND x.most_recent
          LEFT JOIN LATERAL get_step_readiness_status(t.task_uuid, NULL) r ON true
         WHERE t.task_uuid = ANY (input_task_uuids)
         GROUP BY t.task_uuid, x.to_state
    ), told AS (
        SELECT c.*, CASE WHEN c.failed > 0 THEN 'blocked_by_failures' WHEN c.ready > 0 THEN 'has_ready_steps'
                         WHEN c.running > 0 OR c.enqueued > 0 THEN 'processing'
                         WHEN c.completed = c.total AND c.total > 0 THEN 'all_complete'
                         ELSE 'waiting_for_dependencies' END AS execution
          FROM counted c
    )
    SELECT w.task_uuid, w.named_task_uuid, w.state, w.total, w.pending, w.running, w.completed, w.failed, w.ready, w.execution,
           CASE w.execution WHEN 'blocked_by_failures' THEN 'handle_failures' WHEN 'has_ready_steps' THEN 'execute_ready_steps'
                WHEN 'processing' THEN 'wait_for_completion' WHEN 'all_complete' THEN 'finalize_task'
                ELSE 'wait_for_dependencies' END,
           CASE WHEN w.total = 0 THEN 0.0 ELSE round(w.completed * 100.0 / w.total, 2) END,
           CASE WHEN w.failed > 0 THEN 'blocked' ELSE 'healthy' END, w.enqueued
      FROM told w;
END $$;

CREATE FUNCTION get_task_execution_context(input_task_uuid uuid)
RETURNS TABLE (task_uuid uuid, named_task_uuid uuid, status text, total_steps bigint, pending_steps bigint,
               in_progress_steps bigint, completed_steps bigint, failed_steps bigint, ready_steps bigint,
               execution_status text, recommended_action text, completion_percentage numeric, health_status text,
               enqueued_steps bigint)
LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN QUERY SELECT * FROM get_task_execution_contexts_batch(ARRAY[input_task_uuid]);
END $$;

-- What the poller takes next. A task that has waited for longer than an hour (half an hour for a retry) is not seen.
CREATE FUNCTION get_next_ready_tasks(p_limit integer DEFAULT 5)
RETURNS TABLE (task_uuid uuid, task_name varchar, priority integer, namespace_name varchar, ready_steps_count bigint,
               computed_priority numeric, current_state varchar)
LANGUAGE plpgsql AS $$
BEGIN
    RETURN QUERY
    WITH candidates AS (
        SELECT t.task_uuid, n.name AS task_name, t.priority, s.name AS namespace_name, x.to_state,
               CASE WHEN now() - x.created_at < interval '1 hour'
                         THEN t.priority + extract(epoch FROM now() - t.created_at) / 3600 * 0.1
                    WHEN now() - x.created_at < interval '24 hours'
                         THEN t.priority * exp(-extract(epoch FROM now() - x.created_at) / (12 * 3600.0))
                    ELSE 0.1 END AS computed
          FROM tasks t
          JOIN task_transitions x ON x.task_uuid = t.task_uuid AND x.most_recent
          JOIN named_tasks n ON n.named_task_uuid = t.named_task_uuid
          JOIN task_namespaces s ON s.task_namespace_uuid = n.task_namespace_uuid
         WHERE x.to_state = 'pending'
            OR (x.to_state = 'waiting_for_dependencies' AND now() - x.created_at <= interval '60 minutes')
            OR (x.to_state = 'waiting_for_retry' AND now() - x.created_at <= interval '30 minutes')
         ORDER BY computed DESC, t.created_at
         LIMIT p_limit * 10
    )
    SELECT c.task_uuid, c.task_name, c.priority, c.namespace_name, coalesce(k.ready_steps, 0), c.computed, c.to_state
      FROM candidates c CROSS JOIN LATERAL get_task_execution_context(c.task_uuid) k
     WHERE c.to_state = 'pending' OR k.execution_status = 'has_ready_steps'
     ORDER BY c.computed DESC
     LIMIT p_limit;
END $$;

CREATE FUNCTION find_stuck_tasks(p_timeout_minutes integer DEFAULT 10)
RETURNS TABLE (task_uuid uuid, current_state varchar, processor_uuid uuid, stuck_duration_minutes integer)
LANGUAGE plpgsql AS $$
BEGIN
    RETURN QUERY
    SELECT x.task_uuid, x.to_state, x.processor_uuid, (extract(epoch FROM now() - x.created_at) / 60)::integer
      FROM task_transitions x
     WHERE x.most_recent AND x.created_at < now() - interval '1 minute' * p_timeout_minutes
       AND x.to_state IN ('initializing', 'enqueuing_steps', 'steps_in_process', 'evaluating_results');
END $$;

CREATE FUNCTION calculate_dependency_levels(input_task_uuid uuid)
RETURNS TABLE (workflow_step_uuid uuid, dependency_level integer) LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN QUERY
    WITH RECURSIVE levels AS (
        SELECT s.workflow_step_uuid AS step, 0 AS level FROM workflow_steps s
         WHERE s.task_uuid = input_task_uuid
           AND NOT EXISTS (SELECT FROM workflow_step_edges e WHERE e.to_step_uuid = s.workflow_step_uuid)
        UNION ALL
        SELECT e.to_step_uuid, l.level + 1 FROM levels l JOIN workflow_step_edges e ON e.from_step_uuid = l.step
    )
    SELECT l.step, max(l.level) FROM levels l GROUP BY l.step ORDER BY 2, 1;
END $$;

-- What a step gets to see: the results of everything above it, one row for each path.
CREATE FUNCTION get_step_transitive_dependencies(target_step_uuid uuid)
RETURNS TABLE (workflow_step_uuid uuid, task_uuid uuid, named_step_uuid uuid, step_name varchar, results jsonb,
               processed boolean, distance integer)
LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN QUERY
    WITH RECURSIVE above AS (
        SELECT e.from_step_uuid AS step, 1 AS far FROM workflow_step_edges e WHERE e.to_step_uuid = target_step_uuid
        UNION ALL
        SELECT e.from_step_uuid, a.far + 1 FROM above a JOIN workflow_step_edges e ON e.to_step_uuid = a.step WHERE a.far < 50
    )
    SELECT s.workflow_step_uuid, s.task_uuid, s.named_step_uuid, n.name, s.results, s.processed, a.far
      FROM above a JOIN workflow_steps s ON s.workflow_step_uuid = a.step
      JOIN named_steps n ON n.named_step_uuid = s.named_step_uuid
     ORDER BY a.far, s.workflow_step_uuid;
END $$;

-- Staleness and the dead-letter queue

CREATE FUNCTION calculate_staleness_threshold(
    p_task_state varchar, p_template_config jsonb, p_default_waiting_deps integer DEFAULT 60,
    p_default_waiting_retry integer DEFAULT 30, p_default_steps_process integer DEFAULT 30
) RETURNS integer LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE p_task_state
        WHEN 'waiting_for_dependencies'
            THEN coalesce((p_template_config -> 'lifecycle' ->> 'max_waiting_for_dependencies_minutes')::integer, p_default_waiting_deps)
        WHEN 'waiting_for_retry'
            THEN coalesce((p_template_config -> 'lifecycle' ->> 'max_waiting_for_retry_minutes')::integer, p_default_waiting_retry)
        WHEN 'steps_in_process'
            THEN coalesce((p_template_config -> 'lifecycle' ->> 'max_steps_in_process_minutes')::integer, p_default_steps_process)
        ELSE 1440 END
$$;

CREATE FUNCTION get_stale_tasks_for_dlq(
    p_default_waiting_deps integer DEFAULT 60, p_default_waiting_retry integer DEFAULT 30,
    p_default_steps_process integer DEFAULT 30, p_max_lifetime_hours integer DEFAULT 24, p_batch_size integer DEFAULT 100
) RETURNS TABLE (task_uuid uuid, namespace_name varchar, task_name varchar, current_state varchar,
                 time_in_state_minutes numeric, threshold_minutes integer, task_age_minutes numeric)
LANGUAGE plpgsql AS $$
BEGIN
    RETURN QUERY
    SELECT a.* FROM (
        SELECT t.task_uuid, s.name, n.name, x.to_state, (extract(epoch FROM now() - x.created_at) / 60)::numeric AS spent,
               calculate_staleness_threshold(x.to_state, n.configuration, p_default_waiting_deps,
                                             p_default_waiting_retry, p_default_steps_process) AS threshold,
               (extract(epoch FROM now() - t.created_at) / 60)::numeric AS age
          FROM tasks t
          JOIN task_transitions x ON x.task_uuid = t.task_uuid AND x.most_recent
          JOIN named_tasks n ON n.named_task_uuid = t.named_task_uuid
          JOIN task_namespaces s ON s.task_namespace_uuid = n.task_namespace_uuid
         WHERE t.complete = false
           AND x.to_state IN ('waiting_for_dependencies', 'waiting_for_retry', 'steps_in_process')
           AND NOT EXISTS (SELECT FROM tasks_dlq d WHERE d.task_uuid = t.task_uuid AND d.resolution_status = 'pending')) AS a
     WHERE a.spent >= a.threshold OR a.age >= p_max_lifetime_hours * 60
     ORDER BY a.spent DESC
     LIMIT p_batch_size;
END $$;

CREATE FUNCTION create_dlq_entry(
    p_task_uuid uuid, p_namespace_name varchar, p_task_name varchar, p_current_state varchar,
    p_time_in_state_minutes integer, p_threshold_minutes integer, p_dlq_reason varchar DEFAULT 'staleness_timeout'
) RETURNS uuid LANGUAGE plpgsql AS $$
DECLARE
    entry uuid;
BEGIN
    INSERT INTO tasks_dlq (task_uuid, original_state, dlq_reason, task_snapshot, metadata)
    SELECT t.task_uuid, p_current_state, p_dlq_reason::dlq_reason,
           jsonb_build_object('task_uuid', t.task_uuid, 'namespace', p_namespace_name, 'task_name', p_task_name,
               'current_state', p_current_state, 'time_in_state_minutes', p_time_in_state_minutes,
               'threshold_minutes', p_threshold_minutes, 'snapshot_timestamp', now(),
               'task_details', jsonb_build_object('correlation_id', t.correlation_id, 'priority', t.priority,
                                                  'requested_at', t.requested_at, 'created_at', t.created_at)),
           jsonb_build_object('detection_method', 'automatic_staleness', 'time_in_state_minutes', p_time_in_state_minutes,
                              'threshold_minutes', p_threshold_minutes)
      FROM tasks t WHERE t.task_uuid = p_task_uuid
    ON CONFLICT (task_uuid) WHERE resolution_status = 'pending' DO NOTHING
    RETURNING dlq_entry_uuid INTO entry;
    RETURN entry;
EXCEPTION WHEN OTHERS THEN
    RAISE WARNING 'no dead letter for task %: %', p_task_uuid, SQLERRM;
    RETURN NULL;
END $$;

CREATE FUNCTION transition_stale_task_to_error(
    p_task_uuid uuid, p_current_state varchar, p_namespace_name varchar, p_task_name varchar
) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
    RETURN transition_task_state_atomic(p_task_uuid, p_current_state, 'error', NULL, jsonb_build_object(
        'reason', 'staleness_timeout', 'namespace', p_namespace_name, 'task_name', p_task_name, 'detected_at', now()));
EXCEPTION WHEN OTHERS THEN
    RAISE WARNING 'task % stays as it is: %', p_task_uuid, SQLERRM;
    RETURN false;
END $$;

CREATE FUNCTION detect_and_transition_stale_tasks(
    p_dry_run boolean DEFAULT true, p_batch_size integer DEFAULT 100, p_default_waiting_deps_threshold integer DEFAULT 60,
    p_default_waiting_retry_threshold integer DEFAULT 30, p_default_steps_in_process_threshold integer DEFAULT 30,
    p_default_task_max_lifetime_hours integer DEFAULT 24
) RETURNS TABLE (task_uuid uuid, namespace_name varchar, task_name varchar, current_state varchar,
                 time_in_state_minutes integer, staleness_threshold_minutes integer, action_taken varchar,
                 moved_to_dlq boolean, transition_success boolean)
LANGUAGE plpgsql AS $$
DECLARE
    stale record;
    entry uuid;
    moved boolean;
BEGIN
    FOR stale IN SELECT * FROM get_stale_tasks_for_dlq(
        p_default_waiting_deps_threshold, p_default_waiting_retry_threshold, p_default_steps_in_process_threshold,
        p_default_task_max_lifetime_hours, p_batch_size)
    LOOP
        entry := NULL;
        moved := false;
        IF NOT p_dry_run THEN
            entry := create_dlq_entry(stale.task_uuid, stale.namespace_name, stale.task_name, stale.current_state,
                                      stale.time_in_state_minutes::integer, stale.threshold_minutes);
            moved := transition_stale_task_to_error(stale.task_uuid, stale.current_state, stale.namespace_name, stale.task_name);
        END IF;
        RETURN QUERY SELECT stale.task_uuid, stale.namespace_name::varchar, stale.task_name::varchar, stale.current_state::varchar,
            stale.time_in_state_minutes::integer, stale.threshold_minutes,
            (CASE WHEN p_dry_run THEN 'would_transition_to_dlq_and_error'
                  WHEN entry IS NOT NULL AND moved THEN 'transitioned_to_dlq_and_error'
                  WHEN entry IS NOT NULL THEN 'moved_to_dlq_only'
                  WHEN moved THEN 'transitioned_to_error_only' ELSE 'transition_failed' END)::varchar,
            entry IS NOT NULL, coalesce(moved, false);
    END LOOP;
END $$;

-- Since 0.1.7. Its error_type is always null: it reads a key that results do not have.
CREATE FUNCTION get_task_summaries(input_task_uuids uuid[])
RETURNS TABLE (task_uuid uuid, named_task_uuid uuid, task_name text, task_version text, namespace_name text, task_status text,
               created_at timestamptz, updated_at timestamptz, completed_at timestamptz, initiator text, source_system text,
               reason text, correlation_id uuid, template_configuration jsonb, step_summaries jsonb,
               execution_context jsonb, dlq_status jsonb)
LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN QUERY
    SELECT t.task_uuid, t.named_task_uuid, n.name::text, n.version::text, s.name::text, c.status, t.created_at::timestamptz,
           t.updated_at::timestamptz, t.completed_at::timestamptz, t.initiator::text, t.source_system::text, t.reason::text,
           t.correlation_id, n.configuration,
           (SELECT coalesce(jsonb_agg(jsonb_build_object(
                       'step_uuid', r.workflow_step_uuid, 'name', r.name, 'current_state', r.current_state,
                       'created_at', w.created_at, 'completed_at', w.processed_at, 'last_attempted_at', r.last_attempted_at,
                       'attempts', r.attempts, 'max_attempts', r.max_attempts,
                       'dependencies_satisfied', r.dependencies_satisfied, 'retry_eligible', r.retry_eligible,
                       'error_type', w.results -> 'error' ->> 'type',
                       'error_retryable', w.results -> 'error' -> 'retryable',
                       'error_status_code', w.results -> 'error' -> 'status_code') ORDER BY w.created_at), '[]')
              FROM get_step_readiness_status(t.task_uuid, NULL) r
              JOIN workflow_steps w ON w.workflow_step_uuid = r.workflow_step_uuid),
           to_jsonb(c) - 'task_uuid' - 'named_task_uuid' - 'status',
           coalesce((SELECT jsonb_build_object('in_dlq', true, 'dlq_reason', d.dlq_reason, 'resolution_status', d.resolution_status)
                       FROM tasks_dlq d WHERE d.task_uuid = t.task_uuid AND d.resolution_status = 'pending'),
                    jsonb_build_object('in_dlq', false, 'dlq_reason', NULL, 'resolution_status', NULL))
      FROM tasks t
      JOIN get_task_execution_contexts_batch(input_task_uuids) c ON c.task_uuid = t.task_uuid
      JOIN named_tasks n ON n.named_task_uuid = t.named_task_uuid
      JOIN task_namespaces s ON s.task_namespace_uuid = n.task_namespace_uuid
     WHERE t.task_uuid = ANY (input_task_uuids);
END $$;
