-- :fill
SET LOCAL TimeZone = 'UTC';
TRUNCATE task_namespaces, named_tasks, named_steps, tasks, workflow_steps, workflow_step_edges, task_transitions, workflow_step_transitions CASCADE;
INSERT INTO task_namespaces VALUES ('00000000-0000-0000-0000-000000000001', 'shop', '', now(), now());
INSERT INTO named_tasks (named_task_uuid, task_namespace_uuid, name, version, created_at, updated_at) VALUES ('00000000-0000-0000-0000-000000000001', '00000000-0000-0000-0000-000000000001', 'order', '1', now(), now());
INSERT INTO named_steps (named_step_uuid, name, created_at, updated_at) SELECT gen_random_uuid(), 'step ' || n, now(), now() FROM generate_series(1, 4) AS n;
INSERT INTO tasks (named_task_uuid, requested_at, identity_hash, priority, created_at, updated_at, correlation_id)
SELECT '00000000-0000-0000-0000-000000000001', now(), gen_random_uuid(), floor(random() * 9), now() - random() * interval '9 hours', now(), gen_random_uuid() FROM generate_series(1, 6);
INSERT INTO task_transitions (task_uuid, to_state, sort_key, most_recent, created_at, updated_at)
SELECT task_uuid, (ARRAY['pending', 'waiting_for_dependencies', 'waiting_for_dependencies', 'waiting_for_retry', 'steps_in_process'])[1 + floor(random() * 5)::int], 1, true, now() - random() * interval '50 minutes', now() FROM tasks;
INSERT INTO workflow_steps (task_uuid, named_step_uuid, attempts, retryable, in_process, processed, last_attempted_at, backoff_request_seconds, created_at, updated_at)
SELECT t.task_uuid, n.named_step_uuid, floor(random() * 4), random() < 0.9, random() < 0.05, random() < 0.05, CASE WHEN random() < 0.5 THEN now() - random() * interval '2 minutes' END,
       CASE WHEN random() < 0.5 THEN 60 END, now(), now() FROM tasks t CROSS JOIN named_steps n WHERE random() < 0.7;
INSERT INTO workflow_step_transitions (workflow_step_uuid, to_state, sort_key, most_recent, created_at, updated_at)
SELECT workflow_step_uuid, CASE WHEN random() < 0.5 THEN 'pending' WHEN random() < 0.4 THEN 'waiting_for_retry' WHEN random() < 0.7 THEN 'complete' WHEN random() < 0.5 THEN 'enqueued' ELSE 'error' END, 2, true, now() - random() * interval '1 minute', now()
  FROM workflow_steps;
INSERT INTO workflow_step_transitions (workflow_step_uuid, to_state, sort_key, most_recent, created_at, updated_at)
SELECT workflow_step_uuid, 'error', 1, false, now() - random() * interval '1 minute', now() FROM workflow_steps WHERE random() < 0.2;
INSERT INTO workflow_step_edges (from_step_uuid, to_step_uuid, name, created_at, updated_at)
SELECT a.workflow_step_uuid, b.workflow_step_uuid, 'provides', now(), now() FROM workflow_steps a JOIN workflow_steps b ON b.task_uuid = a.task_uuid AND a.workflow_step_uuid < b.workflow_step_uuid WHERE random() < 0.2;

-- :own
SELECT s.workflow_step_uuid::text FROM get_next_ready_tasks(1000) AS r CROSS JOIN LATERAL get_step_readiness_status(r.task_uuid, NULL) AS s
 WHERE s.ready_for_execution ORDER BY r.computed_priority DESC;
