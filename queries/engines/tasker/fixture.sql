-- Tasks of four namespaces: ended, running, and stuck in each way; dead letters; messages in the queues.
-- All objects are in the first schema of the search_path, the queues in pgmq. Parameters: none. Ages are in minutes.
-- A line that ends in "--all" is not in the small demo.
SET LOCAL TimeZone = 'UTC';

CREATE FUNCTION pg_temp.id(age float8) RETURNS uuid LANGUAGE sql VOLATILE AS $$
  SELECT (lpad(to_hex(floor((extract(epoch FROM now()) - 60 * age) * 1000)::bigint), 12, '0') || '7' || lpad(to_hex(floor(random() * 4096)::int), 3, '0') || '8' || substr(md5(random()::text), 1, 15))::uuid
$$;
CREATE FUNCTION pg_temp.ago(age float8) RETURNS timestamp LANGUAGE sql STABLE AS $$ SELECT now()::timestamp - age * interval '1 minute' $$;

-- Steps of the templates, with those that must be complete before.
CREATE TEMP TABLE template_step ON COMMIT DROP AS
SELECT * FROM (VALUES ('shop', 'fulfil_order', 'validate_cart', '{}'::text[]), ('shop', 'fulfil_order', 'reserve_stock', '{validate_cart}'), ('shop', 'fulfil_order', 'charge_card', '{validate_cart}'),
                      ('shop', 'fulfil_order', 'book_carrier', '{reserve_stock,charge_card}'), ('shop', 'fulfil_order', 'send_receipt', '{book_carrier}'),
                      ('shop', 'refund', 'check_return', '{}'), ('shop', 'refund', 'refund_card', '{check_return}'), ('shop', 'refund', 'write_customer', '{refund_card}'),
                      ('reports', 'nightly_report', 'open_books', '{}'), ('reports', 'nightly_report', 'sum_region_north', '{open_books}'), ('reports', 'nightly_report', 'sum_region_east', '{open_books}'),
                      ('reports', 'nightly_report', 'sum_region_west', '{open_books}'), ('reports', 'nightly_report', 'merge_regions', '{sum_region_north,sum_region_east,sum_region_west}'),
                      ('reports', 'nightly_report', 'publish', '{merge_regions}'),
                      ('mail', 'newsletter', 'select_readers', '{}'), ('mail', 'newsletter', 'render', '{select_readers}'), ('mail', 'newsletter', 'deliver_batch', '{render}'), ('mail', 'newsletter', 'count_bounces', '{deliver_batch}'),
                      ('legacy', 'sync_erp', 'pull_erp', '{}'), ('legacy', 'sync_erp', 'push_erp', '{pull_erp}')) AS s (namespace, template, step, after);

INSERT INTO task_namespaces (name, description, created_at, updated_at) SELECT DISTINCT namespace, 'of the demo', pg_temp.ago(500000), pg_temp.ago(500000) FROM template_step;
INSERT INTO named_tasks (task_namespace_uuid, name, version, configuration, created_at, updated_at)
SELECT n.task_namespace_uuid, s.template, '1.0.0',
       jsonb_build_object('name', s.template, 'version', '1.0.0', 'steps', jsonb_agg(jsonb_build_object('name', s.step, 'dependencies', to_jsonb(s.after))))
         || CASE s.template WHEN 'nightly_report' THEN '{"lifecycle":{"max_waiting_for_dependencies_minutes":240,"max_steps_in_process_minutes":120}}' ELSE '{}' END::jsonb,
       pg_temp.ago(500000), pg_temp.ago(500000)
  FROM template_step s JOIN task_namespaces n ON n.name = s.namespace GROUP BY n.task_namespace_uuid, s.template;
INSERT INTO named_steps (name, created_at, updated_at) SELECT DISTINCT step, pg_temp.ago(500000), pg_temp.ago(500000) FROM template_step;

-- The states of a step, from one word for its story.
CREATE FUNCTION pg_temp.story(word text, age float8) RETURNS TABLE (state text, at float8) LANGUAGE sql IMMUTABLE AS $$
  SELECT s.state, age + s.before
    FROM (VALUES ('pending', 'pending', 0.0), ('enqueued', 'pending', 0.5), ('enqueued', 'enqueued', 0), ('claimed', 'pending', 0.5), ('claimed', 'enqueued', 0.02), ('claimed', 'in_progress', 0),
                 ('handed_in', 'pending', 0.5), ('handed_in', 'enqueued', 0.06), ('handed_in', 'in_progress', 0.04), ('handed_in', 'enqueued_for_orchestration', 0),
                 ('complete', 'pending', 0.5), ('complete', 'enqueued', 0.06), ('complete', 'in_progress', 0.04), ('complete', 'enqueued_for_orchestration', 0.02), ('complete', 'complete', 0),
                 ('failed', 'pending', 0.5), ('failed', 'enqueued', 0.06), ('failed', 'in_progress', 0.05), ('failed', 'enqueued_as_error_for_orchestration', 0.02), ('failed', 'error', 0),
                 ('refused', 'pending', 0.5), ('refused', 'enqueued', 0.06), ('refused', 'in_progress', 0.05), ('refused', 'enqueued_as_error_for_orchestration', 0.02), ('refused', 'error', 0),
                 ('waiting', 'pending', 0.5), ('waiting', 'enqueued', 0.06), ('waiting', 'in_progress', 0.05), ('waiting', 'enqueued_as_error_for_orchestration', 0.02), ('waiting', 'waiting_for_retry', 0),
                 ('reset', 'pending', 1.5), ('reset', 'enqueued', 1.06), ('reset', 'in_progress', 1.05), ('reset', 'enqueued_as_error_for_orchestration', 1.02), ('reset', 'error', 1), ('reset', 'pending', 0),
                 ('flagged', 'pending', 0), ('cancelled', 'pending', 1), ('cancelled', 'cancelled', 0), ('skipped', 'pending', 1), ('skipped', 'resolved_manually', 0)) AS s (word, state, before)
   WHERE s.word = story.word
$$;

-- A task in a state for `age` minutes. `steps` names the story of each step with its age: {"charge_card": ["failed", 12, "503 from upstream"]}. The others have the story `rest`.
CREATE FUNCTION pg_temp.task(template text, state text, age float8, steps jsonb DEFAULT '{}', rest text DEFAULT 'pending', note text DEFAULT NULL) RETURNS uuid LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
    oldest float8 := greatest(age, (SELECT max((e.value ->> 1)::float8) FROM jsonb_each(steps) AS e)) + 3;
    task uuid := pg_temp.id(oldest);
    path text[] := ARRAY['pending', 'initializing', 'enqueuing_steps', 'steps_in_process', 'evaluating_results'];
    word text;
    at float8;
    error text;
    step uuid;
    each record;
BEGIN
    path := path[1:coalesce(array_position(path, state) - 1, 5)] || state;
    INSERT INTO tasks (task_uuid, named_task_uuid, complete, requested_at, initiator, source_system, reason, tags, context, identity_hash, priority, created_at, updated_at, correlation_id)
    SELECT task, n.named_task_uuid, state = 'complete', pg_temp.ago(oldest), 'web', 'shop', 'requested', '[]', jsonb_build_object('order_id', 10000 + floor(random() * 90000)::int, 'note', note),
           md5(task::text), CASE WHEN random() < 0.2 THEN 5 ELSE 0 END, pg_temp.ago(oldest), pg_temp.ago(oldest), gen_random_uuid()
      FROM named_tasks n WHERE n.name = template;
    FOR each IN SELECT s.* FROM template_step s WHERE s.template = task.template LOOP
        word := coalesce(steps -> each.step ->> 0, rest);
        at := coalesce((steps -> each.step ->> 1)::float8, age + 0.1);
        error := CASE WHEN word IN ('failed', 'refused', 'waiting', 'reset') THEN coalesce(steps -> each.step ->> 2, '503 from http://10.0.0.7:8080/v1 after 1200 ms') END;
        step := pg_temp.id(oldest);
        INSERT INTO workflow_steps (workflow_step_uuid, task_uuid, named_step_uuid, retryable, in_process, processed, processed_at, attempts, last_attempted_at, backoff_request_seconds, inputs, results,
                                    created_at, updated_at, checkpoint)
        SELECT step, task, n.named_step_uuid, word <> 'refused', word IN ('claimed', 'flagged'), word IN ('complete', 'skipped', 'cancelled'), CASE WHEN word IN ('complete', 'skipped', 'cancelled') THEN pg_temp.ago(at) END,
               CASE WHEN word IN ('failed', 'reset') THEN 3 WHEN word IN ('pending', 'enqueued', 'cancelled', 'skipped') THEN 0 ELSE 1 END,
               CASE WHEN word NOT IN ('pending', 'enqueued', 'cancelled', 'skipped') THEN pg_temp.ago(at) END, CASE word WHEN 'waiting' THEN coalesce((steps -> each.step ->> 3)::int, 120) END,
               jsonb_build_object('step', each.step),
               CASE WHEN error IS NOT NULL OR word IN ('complete', 'handed_in') THEN jsonb_build_object('step_uuid', step, 'success', error IS NULL, 'result', '{}'::jsonb, 'status', CASE WHEN error IS NULL THEN 'completed' ELSE 'error' END,
                    'error', CASE WHEN error IS NOT NULL THEN jsonb_build_object('message', error, 'error_type', 'HandlerError', 'retryable', word <> 'refused', 'status_code', 503, 'backtrace', '[]'::jsonb) END,
                    'metadata', jsonb_build_object('execution_time_ms', 300 + floor(random() * 3000)::int, 'worker_id', md5('worker')::uuid, 'retryable', word <> 'refused')) END,
               pg_temp.ago(oldest), pg_temp.ago(at),
               CASE WHEN each.step = 'deliver_batch' AND word = 'claimed' THEN jsonb_build_object('cursor', 4200, 'items_processed', 4200, 'timestamp', to_char(pg_temp.ago(at * 0.8), 'YYYY-MM-DD"T"HH24:MI:SS"Z"')) END
          FROM named_steps n WHERE n.name = each.step;
        INSERT INTO workflow_step_transitions (workflow_step_transition_uuid, workflow_step_uuid, from_state, to_state, sort_key, most_recent, created_at, updated_at, metadata)
        SELECT pg_temp.id(h.at), step, lag(h.state) OVER w, h.state, row_number() OVER w, lead(h.state) OVER w IS NULL, pg_temp.ago(h.at), pg_temp.ago(h.at),
               CASE h.state WHEN 'in_progress' THEN jsonb_build_object('worker_uuid', CASE WHEN word = 'claimed' AND at > 5 THEN md5('dead worker') ELSE md5('worker') END::uuid) ELSE '{}' END
          FROM pg_temp.story(word, at) AS h WINDOW w AS (ORDER BY h.at DESC);
    END LOOP;
    INSERT INTO workflow_step_edges (from_step_uuid, to_step_uuid, name, created_at, updated_at)
    SELECT a.workflow_step_uuid, b.workflow_step_uuid, 'provides', pg_temp.ago(oldest), pg_temp.ago(oldest)
      FROM template_step s CROSS JOIN LATERAL unnest(s.after) AS up (name) JOIN named_steps m ON m.name = up.name JOIN named_steps n ON n.name = s.step
      JOIN workflow_steps a ON a.task_uuid = task AND a.named_step_uuid = m.named_step_uuid JOIN workflow_steps b ON b.task_uuid = task AND b.named_step_uuid = n.named_step_uuid
     WHERE s.template = task.template;
    INSERT INTO task_transitions (task_transition_uuid, task_uuid, from_state, to_state, sort_key, most_recent, created_at, updated_at, processor_uuid)
    SELECT pg_temp.id(p.at), task, lag(p.name) OVER w, p.name, p.n, p.n = cardinality(path), pg_temp.ago(p.at), pg_temp.ago(p.at), md5('orchestrator')::uuid
      FROM (SELECT q.name, q.n, CASE q.n WHEN cardinality(path) THEN age ELSE age + 0.02 + (oldest - age - 0.1) * (1 - q.n / 10.0) END AS at FROM unnest(path) WITH ORDINALITY AS q (name, n)) AS p
    WINDOW w AS (ORDER BY p.n);
    RETURN task;
END $$;

CREATE FUNCTION pg_temp.dead_letter(task uuid, why text, age float8, decision text DEFAULT 'pending', note text DEFAULT NULL) RETURNS void LANGUAGE sql AS $$
  INSERT INTO tasks_dlq (dlq_entry_uuid, task_uuid, original_state, dlq_reason, dlq_timestamp, resolution_status, resolution_timestamp, resolution_notes, resolved_by, task_snapshot, metadata, created_at, updated_at)
  SELECT pg_temp.id(age), task, 'waiting_for_dependencies', why::dlq_reason, pg_temp.ago(age), decision::dlq_resolution_status, CASE WHEN decision <> 'pending' THEN pg_temp.ago(age / 2) END, note,
         CASE WHEN decision <> 'pending' THEN 'anna@laptop' END,
         jsonb_build_object('task_uuid', task, 'namespace', p.name, 'task_name', n.name, 'current_state', 'waiting_for_dependencies', 'time_in_state_minutes', 75, 'threshold_minutes', 60,
                            'task_details', jsonb_build_object('correlation_id', t.correlation_id, 'priority', t.priority)),
         '{"detection_method":"automatic_staleness","time_in_state_minutes":75,"threshold_minutes":60}', pg_temp.ago(age), pg_temp.ago(age)
    FROM tasks t JOIN named_tasks n USING (named_task_uuid) JOIN task_namespaces p USING (task_namespace_uuid) WHERE t.task_uuid = task
$$;
CREATE FUNCTION pg_temp.message(queue text, task uuid, step text, age float8, reads int DEFAULT 0) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    sent bigint;
BEGIN
    SELECT pgmq_send_with_notify(queue, jsonb_build_object('task_uuid', task, 'step_uuid', s.workflow_step_uuid, 'correlation_id', t.correlation_id)) INTO sent
      FROM workflow_steps s JOIN named_steps n USING (named_step_uuid) JOIN tasks t USING (task_uuid) WHERE s.task_uuid = task AND n.name = step;
    EXECUTE format('UPDATE pgmq.%I SET enqueued_at = now() - $1 * interval ''1 minute'', read_ct = $2 WHERE msg_id = $3', 'q_' || queue) USING age, reads, sent;
END $$;
SELECT pgmq.create('worker_' || name || '_queue') FROM task_namespaces;

-- Ended
SELECT count(pg_temp.task(t.name, 'complete', n * 190 + 12, rest => 'complete')) FROM unnest(ARRAY['fulfil_order', 'refund', 'nightly_report', 'newsletter']) AS t (name), generate_series(1, 8) AS n;
SELECT pg_temp.task('refund', 'resolved_manually', 2880, rest => 'skipped'), pg_temp.task('fulfil_order', 'cancelled', 2880, rest => 'cancelled');

-- Running: the orchestrator takes the pending ones, the worker what is enqueued.
SELECT count(pg_temp.task('fulfil_order', 'pending', 0.1)) FROM generate_series(1, 4);
SELECT count(pg_temp.message('worker_shop_queue', t.id, s.name, 0.1))
  FROM (SELECT pg_temp.task('fulfil_order', 'steps_in_process', 0.1, '{"validate_cart":["complete",1],"reserve_stock":["enqueued",0.1],"charge_card":["enqueued",0.1]}') AS id FROM generate_series(1, 3)) AS t,
       unnest(ARRAY['reserve_stock', 'charge_card']) AS s (name);
SELECT count(pg_temp.task('newsletter', 'waiting_for_retry', 0.5, '{"select_readers":["complete",2],"render":["waiting",0.5,"connection reset",900]}')) FROM generate_series(1, 3);

-- Failed permanently, one with an error that cannot be retried, and one whose reset gave it no attempt.
SELECT count(pg_temp.task('fulfil_order', 'blocked_by_failures', m, format('{"validate_cart":["complete",%s],"reserve_stock":["complete",%s],"charge_card":["failed",%s,"charge_card: 503 from http://10.0.%s.9:8080/v1 after %s ms"]}',
                                       m + 3, m + 2, m + 0.1, m % 256, 900 + m)::jsonb)) FROM unnest(ARRAY[18, 120, 540, 1860]) AS m;
SELECT pg_temp.task('refund', 'blocked_by_failures', 45, '{"check_return":["complete",60],"refund_card":["refused",50,"card was closed by its owner"]}');
SELECT pg_temp.task('nightly_report', 'blocked_by_failures', 174, '{"open_books":["complete",240],"sum_region_north":["complete",210],"sum_region_east":["failed",180,"region east: no rows, 1200 expected"],"sum_region_west":["failed",180,"region west: no rows, 1300 expected"]}'), --all
       pg_temp.task('fulfil_order', 'waiting_for_dependencies', 25, '{"validate_cart":["complete",60],"reserve_stock":["complete",60],"charge_card":["reset",25]}'); --all

-- Claims of a worker that is gone, lost messages, a queue that no worker reads, messages of an ended task.
SELECT count(pg_temp.task('nightly_report', 'steps_in_process', m, format('{"open_books":["complete",%s],"sum_region_north":["claimed",%s],"sum_region_east":["complete",%s],"sum_region_west":["complete",%s]}', m + 2, m, m + 1, m + 1)::jsonb))
  FROM unnest(ARRAY[90, 1200]) AS m;
SELECT pg_temp.task('newsletter', 'steps_in_process', 55, '{"select_readers":["complete",120],"render":["complete",60],"deliver_batch":["claimed",55]}'),
       pg_temp.task('refund', 'steps_in_process', 11, '{"check_return":["handed_in",11]}'), --all
       pg_temp.task('fulfil_order', 'steps_in_process', 14, '{"validate_cart":["enqueued",14]}');
SELECT count(pg_temp.message('worker_legacy_queue', t.id, 'pull_erp', t.m)) FROM (SELECT m, pg_temp.task('sync_erp', 'steps_in_process', m, format('{"pull_erp":["enqueued",%s]}', m)::jsonb) AS id FROM unnest(ARRAY[40, 25, 12]) AS m) AS t;
SELECT pg_temp.message('worker_shop_queue', t.id, 'charge_card', 180, 360) FROM (SELECT pg_temp.task('fulfil_order', 'cancelled', 180, rest => 'cancelled') AS id) AS t; --all

-- In states that no poller reads; a flag that is set; a step that is cancelled though others need it.
SELECT pg_temp.task('refund', 'waiting_for_dependencies', 70, '{"check_return":["complete",120],"refund_card":["pending",120]}'), pg_temp.task('newsletter', 'waiting_for_dependencies', 20, rest => 'complete'); --all
SELECT pg_temp.task('refund', 'initializing', 120), pg_temp.task('fulfil_order', 'enqueuing_steps', 50, '{"validate_cart":["complete",60]}'), pg_temp.task('newsletter', 'evaluating_results', 16, '{"select_readers":["complete",18]}');
SELECT pg_temp.task('fulfil_order', 'steps_in_process', 22, '{"validate_cart":["complete",30],"reserve_stock":["complete",25]}'), --all
       pg_temp.task('refund', 'waiting_for_dependencies', 8, '{"check_return":["flagged",8]}'), pg_temp.task('newsletter', 'waiting_for_dependencies', 10, '{"select_readers":["complete",60],"render":["cancelled",30]}'), --all
       pg_temp.task('nightly_report', 'waiting_for_dependencies', 216, '{"open_books":["complete",240],"sum_region_east":["complete",222],"sum_region_west":["complete",222],"sum_region_north":["waiting",216,"connection reset",86400]}'); --all

-- Dead letters: open, on a task that lives again, on one that is complete, and decided ones.
SELECT count(pg_temp.dead_letter(pg_temp.task('fulfil_order', 'error', d.m, format('{"validate_cart":["complete",%s],"charge_card":["%s",%s]}', d.m + 120, d.story, d.m + 60)::jsonb), d.reason, d.m))
  FROM (VALUES
        (420, 'max_retries_exceeded', 'failed'), (720, 'worker_unavailable', 'pending'), (180, 'dependency_cycle_detected', 'pending'), --all
        (300, 'staleness_timeout', 'pending'), (1560, 'staleness_timeout', 'pending')) AS d (m, reason, story);
SELECT pg_temp.dead_letter(pg_temp.task('fulfil_order', 'waiting_for_dependencies', 15, '{"validate_cart":["waiting",15,"connection reset",7200]}'), 'manual_dlq', 1200), --all
       pg_temp.dead_letter(pg_temp.task('refund', 'complete', 60, rest => 'complete'), 'staleness_timeout', 360); --all
SELECT pg_temp.dead_letter(pg_temp.task('refund', 'error', 4320), 'staleness_timeout', 4320, 'permanently_failed', 'order is void'),
       pg_temp.dead_letter(pg_temp.task('newsletter', 'cancelled', 5760, rest => 'cancelled'), 'staleness_timeout', 7200, 'cancelled', 'sent twice already');

-- The queues have their own schema, whose use the demo's roles need.
DO $$ BEGIN
    IF EXISTS (SELECT FROM pg_roles WHERE rolname = 'operator') AND EXISTS (SELECT FROM pg_roles WHERE rolname = 'viewer') THEN
        GRANT USAGE ON SCHEMA pgmq TO viewer, operator;
        GRANT SELECT ON ALL TABLES IN SCHEMA pgmq TO viewer, operator;
        GRANT INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA pgmq TO operator;
    END IF;
END $$;
