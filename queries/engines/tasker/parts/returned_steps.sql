-- Steps whose result waits for an orchestrator, but whose message is missing.
-- Indexes: those of the included part. A queue of 2,000 or more messages is not read completely, so it proves nothing.
wanted AS (SELECT unnest(ARRAY['enqueued_for_orchestration', 'enqueued_as_error_for_orchestration']) AS to_state),
\ir open_steps.sql
, \ir ended_tasks.sql
, handed AS MATERIALIZED (
  SELECT s.workflow_step_uuid, s.task_uuid, s.at, s.to_state
    FROM open_steps s
   WHERE :settings ->> 'queue' = 'pgmq' AND s.at < now() - 2 * :visibility
     AND s.task_uuid NOT IN (SELECT t.task_uuid FROM ended_tasks t)
),
-- The engine saves the state before the result. An orchestrator refuses the message of a step without a result.
unsaved AS MATERIALIZED (
  SELECT s.workflow_step_uuid FROM :"schema".workflow_steps s
   WHERE s.workflow_step_uuid = ANY (ARRAY(SELECT h.workflow_step_uuid FROM handed h)) AND s.results IS NULL
),
queues AS MATERIALIZED (
  SELECT q.queue_name FROM pgmq.meta q WHERE q.queue_name = 'orchestration_step_results' AND EXISTS (SELECT FROM handed)
),
\ir queue_tables.sql
, \ir messages.sql
, nodes AS (
  SELECT 'step:' || h.workflow_step_uuid AS id, h.*, (SELECT count(*) FROM messages) AS messages,
         h.workflow_step_uuid NOT IN (SELECT u.workflow_step_uuid FROM unsaved u) AS saved
    FROM handed h
   WHERE h.workflow_step_uuid::text NOT IN (SELECT m.m ->> 'step' FROM messages m WHERE m.m ->> 'step' IS NOT NULL) -- hashed
     AND (SELECT count(*) FROM messages) < 2000
     AND NOT EXISTS (SELECT FROM queue_tables u WHERE u.unread IS NOT NULL)
),
more AS (SELECT EXISTS (SELECT FROM open_steps s WHERE s.workflow_step_uuid IS NULL) AS more),
\ir unread.sql
