-- Send the message for a step again. The engine writes the state first and sends the message afterwards; a crash
-- between the two loses the message. A duplicate is harmless, because the engine guards claims and states, but is
-- refused if the first message still exists.

-- :refused
WITH \ir ../parts/asked_steps.sql
SELECT a.id, r.why FROM asked_steps a, LATERAL (SELECT coalesce(a.why,
  CASE WHEN a.to_state NOT LIKE 'enqueued%' THEN 'it is ' || a.to_state || ', so it needs no message'
       WHEN a.to_state <> 'enqueued' AND a.results IS NULL
       THEN 'no result was saved, so the orchestrators would refuse the message: complete it with its result' END) AS why) r
 WHERE r.why IS NOT NULL

-- :refused
-- needs: pgmq
WITH due AS MATERIALIZED (
  SELECT 'step:' || s.workflow_step_uuid AS id, s.workflow_step_uuid, CASE WHEN x.to_state = 'enqueued' THEN 'worker_' || p.name || '_queue' ELSE 'orchestration_step_results' END AS queue
    FROM :"schema".workflow_steps s
    JOIN :"schema".workflow_step_transitions x ON x.workflow_step_uuid = s.workflow_step_uuid AND x.most_recent
    JOIN :"schema".tasks t ON t.task_uuid = s.task_uuid
    JOIN :"schema".named_tasks n ON n.named_task_uuid = t.named_task_uuid
    JOIN :"schema".task_namespaces p ON p.task_namespace_uuid = n.task_namespace_uuid
   WHERE s.workflow_step_uuid = ANY (:step_keys)
),
queues AS MATERIALIZED (SELECT q.queue_name FROM pgmq.meta q WHERE q.queue_name IN (SELECT d.queue FROM due d)),
\ir ../parts/queue_tables.sql
, \ir ../parts/messages.sql
SELECT d.id, CASE WHEN NOT EXISTS (SELECT FROM queues q WHERE q.queue_name = d.queue) THEN 'the queue ' || d.queue || ' does not exist'
                  WHEN EXISTS (SELECT FROM queue_tables u WHERE u.queue_name = d.queue AND u.unread IS NOT NULL)
                  THEN 'the queue may already have its message, but cannot be read: ' || (SELECT u.unread FROM queue_tables u WHERE u.queue_name = d.queue)
                  ELSE d.queue || ' already has its message' END AS why
  FROM due d
 WHERE NOT EXISTS (SELECT FROM queues q WHERE q.queue_name = d.queue)
    OR EXISTS (SELECT FROM queue_tables u WHERE u.queue_name = d.queue AND u.unread IS NOT NULL)
    OR EXISTS (SELECT FROM messages m WHERE m.queue_name = d.queue AND m.m ->> 'step' = d.workflow_step_uuid::text)

-- :change
WITH \ir ../parts/seen.sql
SELECT s.id FROM (
  SELECT n.id, :"schema".pgmq_send_with_notify(
           CASE WHEN x.to_state = 'enqueued' THEN 'worker_' || p.name || '_queue' ELSE 'orchestration_step_results' END,
          jsonb_build_object('task_uuid', n.task_uuid, 'step_uuid', n.step, 'correlation_id', t.correlation_id)) AS sent
    FROM seen n
    JOIN :"schema".workflow_step_transitions x ON x.workflow_step_uuid = n.step AND x.most_recent AND x.to_state LIKE 'enqueued%'
    JOIN :"schema".tasks t ON t.task_uuid = n.task_uuid
    JOIN :"schema".named_tasks m ON m.named_task_uuid = t.named_task_uuid
    JOIN :"schema".task_namespaces p ON p.task_namespace_uuid = m.task_namespace_uuid
  OFFSET 0) AS s
 WHERE s.sent IS NOT NULL
