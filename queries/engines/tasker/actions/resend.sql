-- The message about a step is sent once more. The engine writes the state first and sends then: what breaks between the
-- two leaves a step that nobody is told of. A second message does no harm, claims and states are guarded; a needless one
-- is refused all the same.
-- $1 ids text[]: local ids
-- $2 versions text[]: version of each node that the operator saw
-- $6 limits jsonb
-- Indexes: tasks_pkey, workflow_steps_pkey, idx_workflow_steps_task_covering, the unique ones on current transitions, idx_dlq_task.

\ir ../parts/lock.sql

-- :refused
SELECT r.id, r.why
  FROM (
    SELECT i AS id,
           CASE WHEN x.to_state IS NULL THEN 'none of its transitions is the current one: mend that by hand first'
                WHEN y.to_state IS NULL THEN 'none of its task''s transitions is the current one: mend that by hand first'
                WHEN y.to_state IN ('complete', 'cancelled', 'resolved_manually') THEN 'its task is ' || y.to_state || ': nothing of it runs any more'
                WHEN x.to_state NOT LIKE 'enqueued%' THEN 'it is ' || x.to_state || ': no message is due' END AS why
      FROM unnest($1::text[]) AS i
      JOIN :"schema".workflow_steps s ON s.workflow_step_uuid = substr(i, 6)::uuid
     CROSS JOIN LATERAL (
\ir ../parts/step_state.sql
     ) AS x
      LEFT JOIN :"schema".task_transitions y ON y.task_uuid = s.task_uuid AND y.most_recent) AS r
 WHERE r.why IS NOT NULL

-- :refused
-- needs: pgmq
WITH
\ir ../parts/involved.sql
, due AS MATERIALIZED (
  SELECT i.id, s.workflow_step_uuid, CASE WHEN x.to_state = 'enqueued' THEN 'worker_' || p.name || '_queue' ELSE 'orchestration_step_results' END AS queue
    FROM involved i
    JOIN :"schema".workflow_steps s ON s.workflow_step_uuid = substr(i.id, 6)::uuid
    JOIN :"schema".workflow_step_transitions x ON x.workflow_step_uuid = s.workflow_step_uuid AND x.most_recent
    JOIN :"schema".tasks t ON t.task_uuid = i.task_uuid
    JOIN :"schema".named_tasks n ON n.named_task_uuid = t.named_task_uuid
    JOIN :"schema".task_namespaces p ON p.task_namespace_uuid = n.task_namespace_uuid
),
queues AS MATERIALIZED (SELECT q.queue_name FROM pgmq.meta q WHERE q.queue_name IN (SELECT d.queue FROM due d)),
\ir ../parts/messages.sql
SELECT d.id, CASE WHEN NOT EXISTS (SELECT FROM queues q WHERE q.queue_name = d.queue) THEN 'there is no queue ' || d.queue
                  WHEN EXISTS (SELECT FROM unread_queues u WHERE u.queue_name = d.queue)
                  THEN 'its message may be there: ' || (SELECT u.unread FROM unread_queues u WHERE u.queue_name = d.queue)
                  ELSE 'its message is in ' || d.queue || ': nothing is lost' END AS why
  FROM due d
 WHERE NOT EXISTS (SELECT FROM queues q WHERE q.queue_name = d.queue)
    OR EXISTS (SELECT FROM unread_queues u WHERE u.queue_name = d.queue)
    OR EXISTS (SELECT FROM messages m WHERE m.queue_name = d.queue AND m.m ->> 'step' = d.workflow_step_uuid::text)

\ir ../parts/rows.sql

\ir ../parts/rows_messages.sql

-- :change
WITH
\ir ../parts/seen.sql
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
