-- Tasks number 1, the oldest, to large.rows, each of two steps, the second after the first. The last large.live are in
-- every state about as often as in any other; of the older ones all but every twentieth are complete, and that is in
-- error, cancelled or resolved by hand, which the engine keeps among the unfinished for ever. Every state of a task
-- or a step has one transition before it. Three namespaces, nine templates, six names of steps; one dead letter for
-- each task in error, decided on for the older ones and every tenth, and messages in the queues up to large.live.
SET session_replication_role = replica; -- foreign keys hold by construction

INSERT INTO task_namespaces (task_namespace_uuid, name, created_at, updated_at)
SELECT md5('namespace ' || n)::uuid, 'space_' || n, localtimestamp, localtimestamp FROM generate_series(0, 2) AS n;

INSERT INTO named_tasks (named_task_uuid, task_namespace_uuid, name, created_at, updated_at)
SELECT md5('template ' || n)::uuid, md5('namespace ' || n % 3)::uuid, 'template_' || n, localtimestamp, localtimestamp
  FROM generate_series(0, 8) AS n;

INSERT INTO named_steps (named_step_uuid, name, created_at, updated_at)
SELECT md5('named step ' || n)::uuid, 'step_' || n, localtimestamp, localtimestamp FROM generate_series(0, 5) AS n;

-- Number, key and state of each task. Keys are in the order of time, as the engine's are, also those of transitions and dead letters.
CREATE TEMPORARY TABLE made AS
SELECT n, localtimestamp - make_interval(secs => 7200 + (r.rows - n) % 1000000) AS at,
       (lpad(to_hex(n + 1e12::int8), 12, '0') || '7' || substr(md5(n::text), 1, 19))::uuid AS task,
       CASE WHEN n > r.rows - r.live
            THEN (ARRAY['pending', 'initializing', 'enqueuing_steps', 'steps_in_process', 'evaluating_results', 'waiting_for_dependencies',
                        'waiting_for_retry', 'blocked_by_failures', 'error', 'cancelled', 'complete', 'resolved_manually'])[1 + abs(hashint8(n) % 12)]
            WHEN n % 20 = 0 THEN (ARRAY['error', 'cancelled', 'resolved_manually'])[1 + n % 3]
            ELSE 'complete' END AS state
  FROM (SELECT current_setting('large.rows')::int8 AS rows, current_setting('large.live')::int8 AS live) AS r
 CROSS JOIN LATERAL generate_series(1, r.rows) AS n;

-- A step's state follows from its task's; open tasks' steps are in all of theirs.
CREATE TEMPORARY TABLE steps AS
SELECT m.n, m.at, m.task, m.place, (left(m.task::text, 24) || lpad(to_hex(m.n * 2 + m.place), 12, '0'))::uuid AS step,
       CASE WHEN m.state IN ('complete', 'cancelled') THEN m.state
            WHEN m.state = 'resolved_manually' THEN 'complete'
            WHEN m.state IN ('error', 'blocked_by_failures') THEN (ARRAY['error', 'pending'])[1 + m.place]
            ELSE (ARRAY['pending', 'enqueued', 'in_progress', 'enqueued_for_orchestration', 'enqueued_as_error_for_orchestration',
                        'waiting_for_retry', 'complete', 'cancelled', 'error'])[1 + (m.n / 12 + m.place * 4) % 9] END AS state
  FROM (SELECT m.*, unnest(ARRAY[0, 1]) AS place FROM made m) AS m;

INSERT INTO tasks (task_uuid, named_task_uuid, complete, requested_at, context, tags, identity_hash, priority, created_at, updated_at,
                   correlation_id)
SELECT m.task, md5('template ' || m.n % 9)::uuid, m.state = 'complete', m.at, '{"order": 1}',
       CASE WHEN m.n % 50 = 0 THEN '["slow"]'::jsonb END, m.task::text, m.n % 3, m.at, m.at, md5('correlation ' || m.n)::uuid
  FROM made m;

INSERT INTO task_transitions (task_transition_uuid, task_uuid, to_state, from_state, sort_key, most_recent, created_at, updated_at, processor_uuid)
SELECT (left(m.task::text, 24) || lpad(to_hex(x.number), 12, '0'))::uuid, m.task, CASE WHEN x.last THEN m.state ELSE 'initializing' END, 'pending',
       1 + x.last::int, x.last, m.at, m.at, md5('orchestrator ' || m.n % 5)::uuid
  FROM made m CROSS JOIN LATERAL (VALUES (m.n * 2, false), (m.n * 2 + 1, true)) AS x(number, last);

INSERT INTO workflow_steps (workflow_step_uuid, task_uuid, named_step_uuid, in_process, processed, processed_at, attempts,
                            last_attempted_at, results, checkpoint, created_at, updated_at)
SELECT s.step, s.task, md5('named step ' || (s.place * 3 + s.n % 3))::uuid, s.state = 'in_progress' OR s.n % 40 = 0, s.state IN ('complete', 'cancelled'),
       CASE WHEN s.state = 'complete' THEN s.at END, CASE WHEN s.state <> 'pending' THEN 1 + s.n % 3 WHEN s.n % 30 = 0 THEN 3 END,
       CASE WHEN s.state <> 'pending' THEN s.at END,
       CASE WHEN s.state IN ('complete', 'error') THEN '{"metadata": {"execution_time_ms": 1200}, "error": {"message": "card 1234 declined"}}'::jsonb END,
       CASE WHEN s.n % 100 = 0 THEN jsonb_build_object('timestamp', to_char(s.at, 'YYYY-MM-DD"T"HH24:MI:SS"Z"'), 'cursor', 1) END, s.at, s.at
  FROM steps s;

INSERT INTO workflow_step_edges (from_step_uuid, to_step_uuid, name, created_at, updated_at)
SELECT (left(s.step::text, 24) || lpad(to_hex(s.n * 2), 12, '0'))::uuid, s.step, 'provides', s.at, s.at FROM steps s WHERE s.place = 1;

INSERT INTO workflow_step_transitions (workflow_step_transition_uuid, workflow_step_uuid, to_state, from_state, metadata, sort_key, most_recent, created_at, updated_at)
SELECT (left(s.step::text, 24) || lpad(to_hex(x.number), 12, '0'))::uuid, s.step, CASE WHEN x.last THEN s.state ELSE 'pending' END, 'pending', '{}',
       1 + x.last::int, x.last, s.at, s.at
  FROM steps s CROSS JOIN LATERAL (VALUES (s.n * 4 + s.place * 2, false), (s.n * 4 + s.place * 2 + 1, true)) AS x(number, last);

INSERT INTO tasks_dlq (dlq_entry_uuid, task_uuid, original_state, dlq_reason, dlq_timestamp, resolution_status, task_snapshot)
SELECT (left(m.task::text, 24) || lpad(to_hex(m.n), 12, '0'))::uuid, m.task, 'waiting_for_retry',
       (ARRAY['staleness_timeout', 'max_retries_exceeded', 'worker_unavailable'])[1 + m.n % 3]::dlq_reason, m.at,
       CASE WHEN m.n % 10 = 0 OR m.n <= current_setting('large.rows')::int8 - current_setting('large.live')::int8 THEN 'manually_resolved'
            ELSE 'pending' END::dlq_resolution_status,
       jsonb_build_object('namespace', 'space_' || m.n % 3, 'task_name', 'template_' || m.n % 9)
  FROM made m WHERE m.state = 'error' OR m.n % 60 = 7;

-- The engine's queues exist; their messages are about steps, old and new, read up to seven times.
DO $$
DECLARE
    queue text;
BEGIN
    FOR queue IN SELECT 'orchestration_step_results' UNION ALL SELECT 'worker_' || name || '_queue' FROM task_namespaces LOOP
        PERFORM pgmq.create(queue);
        EXECUTE format('INSERT INTO pgmq.%I (read_ct, enqueued_at, vt, message) SELECT s.n %% 8, now() - interval ''1 hour'', now(),'
                       ' jsonb_build_object(''step_uuid'', s.step, ''task_uuid'', s.task) FROM steps s'
                       ' WHERE s.n %% 2 = 0 AND s.n <= current_setting(''large.live'')::int8 ORDER BY s.n', 'q_' || queue);
    END LOOP;
END $$;

DROP TABLE made, steps;
RESET session_replication_role;
