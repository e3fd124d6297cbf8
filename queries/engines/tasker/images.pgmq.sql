-- The rows that actions on tasks, steps, dead letters and messages may change: also the messages of the requested step, or of all
-- the task's steps that are open or changed in this transaction, and those that ask for a restart of the task.
-- needs: pgmq
-- Indexes: the primary keys, idx_workflow_steps_task_covering, idx_dlq_task, those on the current transitions.
WITH \ir parts/involved.sql
, \ir parts/own_steps.sql
, \ir parts/own_rows.sql
, queues_of_steps AS MATERIALIZED (
  SELECT o.id, o.workflow_step_uuid, 'worker_' || p.name || '_queue' AS queue
    FROM own_steps o JOIN :"schema".tasks t ON t.task_uuid = o.task_uuid
    JOIN :"schema".named_tasks n ON n.named_task_uuid = t.named_task_uuid
    JOIN :"schema".task_namespaces p ON p.task_namespace_uuid = n.task_namespace_uuid
   WHERE :action IN ('cancel', 'complete', 'resend')
),
queues AS MATERIALIZED (
  SELECT q.queue_name FROM pgmq.meta q
   WHERE :settings ->> 'queue' = 'pgmq'
     AND (q.queue_name IN (SELECT o.queue FROM queues_of_steps o)
          OR q.queue_name = 'orchestration_step_results' AND EXISTS (SELECT FROM queues_of_steps)
          OR q.queue_name = 'orchestration_task_requests' AND :action = 'restart')
),
\ir parts/queue_tables.sql
, \ir parts/messages.sql
, \ir parts/requested_messages.sql
SELECT r.id, r.relation, r.place FROM own_rows r
UNION ALL
SELECT o.id, (m.m ->> 'relation')::oid, m.m ->> 'place'
  FROM queues_of_steps o JOIN messages m ON m.m ->> 'step' = o.workflow_step_uuid::text
UNION ALL
SELECT i.id, (m.m ->> 'relation')::oid, m.m ->> 'place'
  FROM involved i JOIN messages m ON m.m ->> 'restarts' = i.task_uuid::text
UNION ALL
SELECT m.id, (m.m ->> 'relation')::oid, m.m ->> 'place' FROM requested_messages m
