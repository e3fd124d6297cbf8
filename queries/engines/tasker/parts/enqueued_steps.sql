-- Enqueued steps whose message is missing. The engine sends it after it writes the state, so it can be lost.
-- Indexes: those of the included part. A queue of 2,000 or more messages is not read completely, so it proves nothing.
wanted AS (SELECT unnest(ARRAY['enqueued']) AS to_state),
\ir open_steps.sql
, \ir ended_tasks.sql
, their_tasks AS MATERIALIZED (
  SELECT t.task_uuid, t.named_task_uuid FROM :"schema".tasks t WHERE t.task_uuid = ANY (ARRAY(SELECT s.task_uuid FROM open_steps s))
),
step_tasks AS MATERIALIZED (
  SELECT s.workflow_step_uuid, s.at, s.task_uuid, t.named_task_uuid FROM open_steps s FULL JOIN their_tasks t ON t.task_uuid = s.task_uuid
),
handed AS MATERIALIZED (
  SELECT t.workflow_step_uuid, t.task_uuid, t.at, 'worker_' || p.name || '_queue' AS queue
    FROM step_tasks t
    JOIN :"schema".named_tasks n ON n.named_task_uuid = t.named_task_uuid
    JOIN :"schema".task_namespaces p ON p.task_namespace_uuid = n.task_namespace_uuid
   WHERE :settings ->> 'queue' = 'pgmq' AND t.at < now() - 2 * :visibility
     AND t.task_uuid NOT IN (SELECT e.task_uuid FROM ended_tasks e)
),
queues AS MATERIALIZED (SELECT q.queue_name FROM pgmq.meta q WHERE q.queue_name IN (SELECT h.queue FROM handed h)),
\ir queue_tables.sql
, \ir messages.sql
, sizes AS MATERIALIZED (SELECT m.queue_name, count(*) AS n FROM messages m GROUP BY m.queue_name),
nodes AS (
  SELECT 'step:' || h.workflow_step_uuid AS id, h.*, h.queue IN (SELECT q.queue_name FROM queues q) AS known, coalesce(z.n, 0) AS messages
    FROM handed h
    LEFT JOIN sizes z ON z.queue_name = h.queue
   WHERE (h.queue, h.workflow_step_uuid::text) NOT IN (SELECT m.queue_name::text, m.m ->> 'step' FROM messages m WHERE m.m ->> 'step' IS NOT NULL) -- hashed
     AND coalesce(z.n, 0) < 2000
     AND h.queue NOT IN (SELECT u.queue_name FROM queue_tables u WHERE u.unread IS NOT NULL)
),
more AS (SELECT EXISTS (SELECT FROM open_steps s WHERE s.workflow_step_uuid IS NULL) AS more),
\ir unread.sql
