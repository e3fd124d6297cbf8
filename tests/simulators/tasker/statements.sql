-- Statements of the demo's tasker. Names are unqualified: the search_path names the schema.

-- :clock
SELECT now()::timestamp;

-- :task_state
SELECT to_state FROM task_transitions WHERE task_uuid = $1 AND most_recent;

-- :step_state
SELECT to_state FROM workflow_step_transitions WHERE workflow_step_uuid = $1 AND most_recent;

-- :task_next
-- The engine reads the next number, marks the current row as not current, and inserts its successor. It has read the
-- current state before, outside this transaction, and does not check it again.
SELECT coalesce(max(sort_key), 0) + 1 FROM task_transitions WHERE task_uuid = $1;

-- :task_leave
UPDATE task_transitions SET most_recent = false, updated_at = now() WHERE task_uuid = $1 AND most_recent;

-- :task_enter
-- $1 task, $2 from, $3 to, $4 metadata, $5 number, $6 orchestrator
INSERT INTO task_transitions (task_uuid, from_state, to_state, metadata, sort_key, most_recent, created_at, updated_at, processor_uuid)
VALUES ($1, $2, $3, $4::jsonb, $5, true, now(), now(), $6);

-- :step_next
SELECT coalesce(max(sort_key), 0) + 1 FROM workflow_step_transitions WHERE workflow_step_uuid = $1;

-- :step_leave
UPDATE workflow_step_transitions SET most_recent = false, updated_at = now() WHERE workflow_step_uuid = $1 AND most_recent;

-- :step_enter
-- $1 step, $2 from, $3 to, $4 metadata, $5 number
INSERT INTO workflow_step_transitions (workflow_step_uuid, from_state, to_state, metadata, sort_key, most_recent, created_at, updated_at)
VALUES ($1, $2, $3, $4::jsonb, $5, true, now(), now());

-- :claimed
UPDATE workflow_steps SET in_process = true, attempts = coalesce(attempts, 0) + 1, last_attempted_at = now(), updated_at = now()
WHERE workflow_step_uuid = $1;

-- :handed_in
UPDATE workflow_steps SET in_process = false, results = $2::jsonb, updated_at = now() WHERE workflow_step_uuid = $1;

-- :processed
UPDATE workflow_steps SET processed = true, in_process = false, processed_at = now(), updated_at = now() WHERE workflow_step_uuid = $1;

-- :failed
UPDATE workflow_steps SET in_process = false, updated_at = now() WHERE workflow_step_uuid = $1;

-- :backoff
SELECT set_step_backoff_atomic($1, $2);

-- :step
SELECT s.task_uuid, s.attempts, s.max_attempts, s.retryable, s.results, s.inputs, n.name, t.correlation_id
FROM workflow_steps s JOIN named_steps n ON n.named_step_uuid = s.named_step_uuid JOIN tasks t ON t.task_uuid = s.task_uuid
WHERE s.workflow_step_uuid = $1;

-- :context
SELECT execution_status, total_steps, ready_steps, in_progress_steps + enqueued_steps AS in_flight FROM get_task_execution_context($1);

-- :ready_steps
SELECT workflow_step_uuid, current_state FROM get_step_readiness_status($1, NULL) WHERE ready_for_execution;

-- :ready_tasks
SELECT task_uuid, current_state FROM get_next_ready_tasks($1);

-- :queue_of
SELECT 'worker_' || p.name || '_queue'
FROM tasks t JOIN named_tasks n ON n.named_task_uuid = t.named_task_uuid
JOIN task_namespaces p ON p.task_namespace_uuid = n.task_namespace_uuid WHERE t.task_uuid = $1;

-- :correlation
SELECT correlation_id FROM tasks WHERE task_uuid = $1;

-- :complete_locks
SELECT task_uuid FROM tasks WHERE task_uuid = $1 FOR UPDATE;

-- :complete_task
UPDATE tasks SET complete = true, updated_at = now() WHERE task_uuid = $1;

-- :stale
SELECT count(*) FROM detect_and_transition_stale_tasks(false, 100, $1, $2, $3, $4) AS d WHERE d.moved_to_dlq;

-- :read
SELECT msg_id, read_ct, message FROM pgmq.read($1, $2, $3);

-- :archive
SELECT pgmq.archive($1, $2);

-- :send
SELECT pgmq_send_with_notify($1, $2::jsonb);

-- :template
SELECT n.named_task_uuid FROM named_tasks n JOIN task_namespaces p ON p.task_namespace_uuid = n.task_namespace_uuid
WHERE p.name = $1 AND n.name = $2 AND n.version = $3;

-- :template_of
SELECT p.name AS namespace, n.name, n.version
FROM tasks t JOIN named_tasks n ON n.named_task_uuid = t.named_task_uuid
JOIN task_namespaces p ON p.task_namespace_uuid = n.task_namespace_uuid WHERE t.task_uuid = $1;

-- :insert_task
-- $1 template, $2 context, $3 identity, $4 priority, $5 correlation, $6 parent's, $7 initiator, $8 system, $9 reason, $10 tags
INSERT INTO tasks (named_task_uuid, requested_at, initiator, source_system, reason, tags, context, identity_hash, priority,
                   created_at, updated_at, correlation_id, parent_correlation_id)
VALUES ($1, now(), $7, $8, $9, $10::jsonb, $2::jsonb, $3, $4, now(), now(), $5, $6)
ON CONFLICT (identity_hash) DO NOTHING
RETURNING task_uuid;

-- :insert_steps
-- $1 task, $2 names, $3 limits of attempts, $4 true if retryable
INSERT INTO workflow_steps (task_uuid, named_step_uuid, max_attempts, retryable, created_at, updated_at)
SELECT $1, n.named_step_uuid, r.max_attempts, r.retryable, now(), now()
FROM unnest($2::text[], $3::int4[], $4::bool[]) WITH ORDINALITY AS r (name, max_attempts, retryable, n)
JOIN named_steps n ON n.name = r.name ORDER BY r.n
RETURNING workflow_step_uuid;

-- :insert_edges
-- $1 task, $2 parents, $3 children, by name
INSERT INTO workflow_step_edges (from_step_uuid, to_step_uuid, name, created_at, updated_at)
SELECT a.workflow_step_uuid, b.workflow_step_uuid, 'provides', now(), now()
FROM unnest($2::text[], $3::text[]) AS r (up, down)
JOIN named_steps m ON m.name = r.up JOIN workflow_steps a ON a.task_uuid = $1 AND a.named_step_uuid = m.named_step_uuid
JOIN named_steps n ON n.name = r.down JOIN workflow_steps b ON b.task_uuid = $1 AND b.named_step_uuid = n.named_step_uuid;

-- :fill_namespaces
-- ids, names, ages in seconds
INSERT INTO task_namespaces SELECT r.id, r.name, 'of the demo', now() - make_interval(secs => r.age), now() - make_interval(secs => r.age)
FROM unnest($1::uuid[], $2::text[], $3::float8[]) AS r (id, name, age);

-- :fill_templates
-- ids, namespaces, names, versions, configurations, ages
INSERT INTO named_tasks (named_task_uuid, task_namespace_uuid, name, version, configuration, created_at, updated_at)
SELECT r.id, r.space, r.name, r.version, r.configuration::jsonb, now() - make_interval(secs => r.age), now() - make_interval(secs => r.age)
FROM unnest($1::uuid[], $2::uuid[], $3::text[], $4::text[], $5::text[], $6::float8[]) AS r (id, space, name, version, configuration, age);

-- :fill_names
-- ids, names, ages
INSERT INTO named_steps SELECT r.id, r.name, NULL, now() - make_interval(secs => r.age), now() - make_interval(secs => r.age)
FROM unnest($1::uuid[], $2::text[], $3::float8[]) AS r (id, name, age);

-- :fill_tasks
-- ids, templates, ages, complete, priorities, correlations, parents', contexts, tags
INSERT INTO tasks (task_uuid, named_task_uuid, complete, requested_at, initiator, source_system, reason, tags, context, identity_hash,
                   priority, created_at, updated_at, correlation_id, parent_correlation_id)
SELECT r.id, r.template, r.complete, now() - make_interval(secs => r.age), 'web', 'shop', 'requested', r.tags::jsonb, r.context::jsonb,
       md5(r.id::text), r.priority, now() - make_interval(secs => r.age), now() - make_interval(secs => r.age), r.correlation, r.parent
FROM unnest($1::uuid[], $2::uuid[], $3::float8[], $4::bool[], $5::int4[], $6::uuid[], $7::uuid[], $8::text[], $9::text[])
  AS r (id, template, age, complete, priority, correlation, parent, context, tags);

-- :fill_steps
-- ids, tasks, names, ages, attempts, limits, retryable, in process, processed (seconds ago or NULL), tried (likewise),
-- backoffs, results, inputs, checkpoints
INSERT INTO workflow_steps (workflow_step_uuid, task_uuid, named_step_uuid, retryable, max_attempts, in_process, processed, processed_at,
                            attempts, last_attempted_at, backoff_request_seconds, inputs, results, created_at, updated_at, checkpoint)
SELECT r.id, r.task, n.named_step_uuid, r.retryable, r.most, r.at_work, r.done IS NOT NULL, now() - make_interval(secs => r.done),
       r.attempts, now() - make_interval(secs => r.tried), r.backoff, r.inputs::jsonb, r.results::jsonb,
       now() - make_interval(secs => r.age), now() - make_interval(secs => least(coalesce(r.done, r.tried, r.age), r.stamped)),
       CASE WHEN r.stamped IS NOT NULL THEN r.checkpoint::jsonb || jsonb_build_object('timestamp',
            to_char(now() - make_interval(secs => r.stamped), 'YYYY-MM-DD"T"HH24:MI:SS"Z"')) END
FROM unnest($1::uuid[], $2::uuid[], $3::text[], $4::float8[], $5::int4[], $6::int4[], $7::bool[], $8::bool[], $9::float8[], $10::float8[],
            $11::int4[], $12::text[], $13::text[], $14::text[], $15::float8[])
  AS r (id, task, name, age, attempts, most, retryable, at_work, done, tried, backoff, results, inputs, checkpoint, stamped)
JOIN named_steps n ON n.name = r.name;

-- :fill_edges
-- parents, children, ages
INSERT INTO workflow_step_edges (from_step_uuid, to_step_uuid, name, created_at, updated_at)
SELECT r.up, r.down, 'provides', now() - make_interval(secs => r.age), now() - make_interval(secs => r.age)
FROM unnest($1::uuid[], $2::uuid[], $3::float8[]) AS r (up, down, age);

-- :fill_task_states
-- ids, tasks, from, to, numbers, current, ages, orchestrators, metadata
INSERT INTO task_transitions (task_transition_uuid, task_uuid, from_state, to_state, sort_key, most_recent, created_at, updated_at, processor_uuid, metadata)
SELECT r.id, r.task, r.was, r.state, r.n, r.current, now() - make_interval(secs => r.age), now() - make_interval(secs => r.age), r.processor, r.metadata::jsonb
FROM unnest($1::uuid[], $2::uuid[], $3::text[], $4::text[], $5::int4[], $6::bool[], $7::float8[], $8::uuid[], $9::text[])
  AS r (id, task, was, state, n, current, age, processor, metadata);

-- :fill_step_states
-- ids, steps, from, to, numbers, current, ages, metadata
INSERT INTO workflow_step_transitions (workflow_step_transition_uuid, workflow_step_uuid, from_state, to_state, sort_key, most_recent, created_at, updated_at, metadata)
SELECT r.id, r.step, r.was, r.state, r.n, r.current, now() - make_interval(secs => r.age), now() - make_interval(secs => r.age), r.metadata::jsonb
FROM unnest($1::uuid[], $2::uuid[], $3::text[], $4::text[], $5::int4[], $6::bool[], $7::float8[], $8::text[])
  AS r (id, step, was, state, n, current, age, metadata);

-- :fill_dead_letters
-- ids, tasks, states before, reasons, ages, decisions, decided (seconds ago), notes, names
INSERT INTO tasks_dlq (dlq_entry_uuid, task_uuid, original_state, dlq_reason, dlq_timestamp, resolution_status, resolution_timestamp,
                       resolution_notes, resolved_by, task_snapshot, metadata, created_at, updated_at)
SELECT r.id, r.task, r.was, r.reason::dlq_reason, now() - make_interval(secs => r.age), r.decision::dlq_resolution_status,
       now() - make_interval(secs => r.decided), r.note, r.by,
       jsonb_build_object('task_uuid', r.task, 'namespace', p.name, 'task_name', n.name, 'current_state', r.was, 'time_in_state_minutes', 75,
         'threshold_minutes', 60, 'snapshot_timestamp', now() - make_interval(secs => r.age),
         'task_details', jsonb_build_object('correlation_id', t.correlation_id, 'priority', t.priority, 'requested_at', t.requested_at, 'created_at', t.created_at)),
       jsonb_build_object('detection_method', 'automatic_staleness', 'time_in_state_minutes', 75, 'threshold_minutes', 60),
       now() - make_interval(secs => r.age), now() - make_interval(secs => coalesce(r.decided, r.age))
FROM unnest($1::uuid[], $2::uuid[], $3::text[], $4::text[], $5::float8[], $6::text[], $7::float8[], $8::text[], $9::text[])
  AS r (id, task, was, reason, age, decision, decided, note, by)
JOIN tasks t ON t.task_uuid = r.task
JOIN named_tasks n ON n.named_task_uuid = t.named_task_uuid
JOIN task_namespaces p ON p.task_namespace_uuid = n.task_namespace_uuid;

-- :has_queues
SELECT to_regclass('pgmq.meta');

-- :aged
-- $1 message, $2 age in seconds, $3 number of reads. The caller replaces QUEUE with the table's name.
UPDATE pgmq."QUEUE" SET enqueued_at = now() - make_interval(secs => $2), read_ct = $3 WHERE msg_id = $1;

-- :queues
SELECT pgmq.create('worker_' || name || '_queue') FROM task_namespaces;
