-- The orchestrator and a worker of the demo. The worker reads the queues of shop, reports and mail; no worker reads that of legacy.

-- :begin at most 1 times
SET TimeZone = 'UTC';
CREATE FUNCTION pg_temp.task_to(task uuid, state text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    was record;
BEGIN
    UPDATE task_transitions t SET most_recent = false, updated_at = now() WHERE t.task_uuid = task AND t.most_recent RETURNING t.to_state, t.sort_key INTO was;
    INSERT INTO task_transitions (task_uuid, from_state, to_state, sort_key, most_recent, created_at, updated_at, processor_uuid)
    VALUES (task, was.to_state, state, coalesce(was.sort_key, 0) + 1, true, clock_timestamp(), now(), md5('orchestrator')::uuid);
END $$;
CREATE FUNCTION pg_temp.step_to(step uuid, state text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    was record;
BEGIN
    UPDATE workflow_step_transitions t SET most_recent = false, updated_at = now() WHERE t.workflow_step_uuid = step AND t.most_recent RETURNING t.to_state, t.sort_key INTO was;
    INSERT INTO workflow_step_transitions (workflow_step_uuid, from_state, to_state, sort_key, most_recent, created_at, updated_at, metadata)
    VALUES (step, was.to_state, state, coalesce(was.sort_key, 0) + 1, true, clock_timestamp(), now(), CASE state WHEN 'in_progress' THEN jsonb_build_object('worker_uuid', md5('worker')::uuid) ELSE '{}' END);
END $$;
-- Enqueue the ready steps of a task, or end it if all its steps are processed.
CREATE FUNCTION pg_temp.continue(task uuid) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    queue text;
    ready uuid[];
BEGIN
    SELECT 'worker_' || p.name || '_queue' INTO queue FROM tasks t JOIN named_tasks n USING (named_task_uuid) JOIN task_namespaces p USING (task_namespace_uuid) WHERE t.task_uuid = task;
    ready := ARRAY(SELECT s.workflow_step_uuid FROM get_step_readiness_status(task, NULL) AS s WHERE s.ready_for_execution);
    IF NOT EXISTS (SELECT FROM workflow_steps s WHERE s.task_uuid = task AND NOT s.processed) THEN
        PERFORM pg_temp.task_to(task, 'complete');
        UPDATE tasks SET complete = true, updated_at = now() WHERE task_uuid = task;
    ELSIF cardinality(ready) > 0 THEN
        PERFORM pg_temp.task_to(task, 'enqueuing_steps');
        PERFORM pg_temp.step_to(s, 'enqueued') FROM unnest(ready) AS s;
        PERFORM pgmq_send_with_notify(queue, jsonb_build_object('task_uuid', task, 'step_uuid', s, 'correlation_id', (SELECT correlation_id FROM tasks WHERE task_uuid = task))) FROM unnest(ready) AS s;
        PERFORM pg_temp.task_to(task, 'steps_in_process');
    ELSIF EXISTS (SELECT FROM workflow_steps s JOIN workflow_step_transitions x USING (workflow_step_uuid) WHERE s.task_uuid = task AND x.most_recent AND x.to_state IN ('enqueued', 'in_progress', 'enqueued_for_orchestration')) THEN
        PERFORM pg_temp.task_to(task, 'steps_in_process');
    ELSE
        PERFORM pg_temp.task_to(task, CASE WHEN EXISTS (SELECT FROM workflow_steps s JOIN workflow_step_transitions x USING (workflow_step_uuid)
                                                         WHERE s.task_uuid = task AND x.most_recent AND x.to_state = 'error') THEN 'blocked_by_failures' ELSE 'waiting_for_retry' END);
    END IF;
END $$;

-- :arrive every 16 ticks, at most 300 times
DO $$
DECLARE
    task uuid;
    made record;
BEGIN
    SELECT * INTO made FROM named_tasks WHERE name IN ('fulfil_order', 'refund') ORDER BY random() LIMIT 1;
    INSERT INTO tasks (named_task_uuid, requested_at, initiator, source_system, reason, tags, context, identity_hash, priority, created_at, updated_at, correlation_id)
    VALUES (made.named_task_uuid, now(), 'web', 'shop', 'requested', '[]', jsonb_build_object('order_id', floor(random() * 90000)), gen_random_uuid()::text, 0, now(), now(), gen_random_uuid())
    RETURNING task_uuid INTO task;
    INSERT INTO workflow_steps (task_uuid, named_step_uuid, created_at, updated_at)
    SELECT task, n.named_step_uuid, now(), now() FROM jsonb_array_elements(made.configuration -> 'steps') AS s (step) JOIN named_steps n ON n.name = s.step ->> 'name';
    INSERT INTO workflow_step_edges (from_step_uuid, to_step_uuid, name, created_at, updated_at)
    SELECT a.workflow_step_uuid, b.workflow_step_uuid, 'provides', now(), now()
      FROM jsonb_array_elements(made.configuration -> 'steps') AS s (step) CROSS JOIN LATERAL jsonb_array_elements_text(s.step -> 'dependencies') AS up (name)
      JOIN named_steps m ON m.name = up.name JOIN named_steps n ON n.name = s.step ->> 'name'
      JOIN workflow_steps a ON a.task_uuid = task AND a.named_step_uuid = m.named_step_uuid JOIN workflow_steps b ON b.task_uuid = task AND b.named_step_uuid = n.named_step_uuid;
    PERFORM pg_temp.task_to(task, 'pending');
    PERFORM pg_temp.step_to(workflow_step_uuid, 'pending') FROM workflow_steps WHERE task_uuid = task;
END $$;

-- :orchestrate
DO $$
DECLARE
    ready record;
BEGIN
    FOR ready IN SELECT r.task_uuid, r.current_state FROM get_next_ready_tasks(5) AS r LOOP
        IF ready.current_state = 'pending' THEN
            PERFORM pg_temp.task_to(ready.task_uuid, 'initializing');
        END IF;
        PERFORM pg_temp.continue(ready.task_uuid);
    END LOOP;
END $$;

-- :claim
DO $$
DECLARE
    queue text;
    got record;
BEGIN
    FOREACH queue IN ARRAY ARRAY['worker_shop_queue', 'worker_reports_queue', 'worker_mail_queue'] LOOP
        FOR got IN SELECT m.msg_id, (m.message ->> 'step_uuid')::uuid AS step FROM pgmq.read(queue, 30, 3) AS m LOOP
            IF EXISTS (SELECT FROM workflow_step_transitions t WHERE t.workflow_step_uuid = got.step AND t.most_recent AND t.to_state = 'enqueued') THEN
                PERFORM pg_temp.step_to(got.step, 'in_progress');
                UPDATE workflow_steps SET in_process = true, attempts = coalesce(attempts, 0) + 1, last_attempted_at = now(), updated_at = now() WHERE workflow_step_uuid = got.step;
                PERFORM pgmq.archive(queue, got.msg_id);
            END IF;
        END LOOP;
    END LOOP;
END $$;

-- :hand_in
-- Steps of this worker that have run for a second or two. An attempt in fifteen fails.
DO $$
DECLARE
    done record;
    good boolean;
BEGIN
    FOR done IN SELECT t.workflow_step_uuid AS step FROM workflow_step_transitions t
                 WHERE t.most_recent AND t.to_state = 'in_progress' AND t.metadata ->> 'worker_uuid' = md5('worker')::uuid::text AND t.created_at BETWEEN now() - interval '1 minute' AND now() - interval '1 second' LOOP
        good := random() > 0.07;
        UPDATE workflow_steps s
           SET in_process = false, updated_at = now(), last_attempted_at = now(),
               results = jsonb_build_object('step_uuid', done.step, 'success', good, 'result', '{}'::jsonb, 'status', CASE WHEN good THEN 'completed' ELSE 'error' END,
                 'error', CASE WHEN NOT good THEN jsonb_build_object('message', 'connection reset by peer', 'error_type', 'HandlerError', 'retryable', true, 'status_code', 503, 'backtrace', '[]'::jsonb) END,
                 'metadata', jsonb_build_object('execution_time_ms', 900 + floor(random() * 900)::int, 'worker_id', md5('worker')::uuid, 'retryable', true))
         WHERE s.workflow_step_uuid = done.step;
        PERFORM pg_temp.step_to(done.step, CASE WHEN good THEN 'enqueued_for_orchestration' ELSE 'enqueued_as_error_for_orchestration' END);
    END LOOP;
END $$;

-- :evaluate
DO $$
DECLARE
    came record;
BEGIN
    FOR came IN SELECT s.workflow_step_uuid AS step, s.task_uuid AS task, t.to_state = 'enqueued_for_orchestration' AS good, s.attempts >= s.max_attempts AS last
                  FROM workflow_step_transitions t JOIN workflow_steps s USING (workflow_step_uuid)
                 WHERE t.most_recent AND t.to_state IN ('enqueued_for_orchestration', 'enqueued_as_error_for_orchestration') AND t.created_at > now() - interval '1 minute' LOOP
        PERFORM pg_temp.step_to(came.step, CASE WHEN came.good THEN 'complete' WHEN came.last THEN 'error' ELSE 'waiting_for_retry' END);
        UPDATE workflow_steps SET processed = came.good, processed_at = CASE WHEN came.good THEN now()::timestamp END, updated_at = now() WHERE workflow_step_uuid = came.step;
        IF (SELECT to_state FROM task_transitions WHERE task_uuid = came.task AND most_recent) = 'steps_in_process' THEN
            PERFORM pg_temp.task_to(came.task, 'evaluating_results');
            PERFORM pg_temp.continue(came.task);
        END IF;
    END LOOP;
END $$;
