-- Cancel a task and all its steps that have not ended, in one transaction (the engine uses several). Running handlers
-- continue; the engine rejects their results. Archive their messages, because workers would read them again and again.
-- $1 ids text[]: local ids
-- $2 versions text[]: version of each node that the operator saw
-- $3 operator text
-- $4 reason text
-- $6 settings jsonb
-- Indexes: tasks_pkey, workflow_steps_pkey, idx_workflow_steps_task_covering, idx_dlq_task, the unique indexes on current
-- transitions.

\ir ../parts/lock.sql

-- :refused
SELECT r.id, r.why
  FROM (
    SELECT i AS id,
           CASE
\ir ../parts/task_refusals.sql
                WHEN x.to_state = 'error' THEN 'it is in error, so it has ended. The engine does not cancel an ended task' END AS why
\ir ../parts/asked_tasks.sql
      ) AS r
 WHERE r.why IS NOT NULL

-- :refused
-- needs: pgmq
-- Messages that cannot be read cannot be archived, and workers would read them again and again.
WITH
\ir ../parts/involved.sql
, of_queues AS MATERIALIZED (
  SELECT i.id, q.queue_name
    FROM involved i
    JOIN :"schema".tasks t ON t.task_uuid = i.task_uuid
    JOIN :"schema".named_tasks n ON n.named_task_uuid = t.named_task_uuid
    JOIN :"schema".task_namespaces p ON p.task_namespace_uuid = n.task_namespace_uuid
    JOIN pgmq.meta q ON q.queue_name IN ('worker_' || p.name || '_queue', 'orchestration_step_results')
   WHERE $6::jsonb ->> 'queue' = 'pgmq'
),
queues AS (SELECT DISTINCT o.queue_name FROM of_queues o),
\ir ../parts/queue_tables.sql
closed AS (SELECT t.queue_name, t.unread FROM queue_tables t WHERE t.relname IS NOT NULL AND t.unread IS NOT NULL)
SELECT o.id, 'messages about its steps cannot be archived: ' || string_agg(c.unread, ', ' ORDER BY c.unread) AS why
  FROM of_queues o JOIN closed c ON c.queue_name = o.queue_name
 GROUP BY o.id

\ir ../parts/rows.sql

\ir ../parts/rows_messages.sql

-- :change
WITH
\ir ../parts/seen.sql
, moving AS MATERIALIZED (
  SELECT s.workflow_step_uuid, s.task_uuid, x.to_state, 'cancelled' AS becomes,
         '{"type":"Cancel"}' AS event
\ir ../parts/steps_seen.sql
    JOIN :"schema".task_transitions y ON y.task_uuid = n.task_uuid AND y.most_recent
     AND y.to_state NOT IN ('complete', 'error', 'cancelled', 'resolved_manually')
   WHERE x.to_state NOT IN ('complete', 'cancelled', 'resolved_manually')
)
\ir ../parts/step_transitions.sql

-- :change
WITH
\ir ../parts/involved.sql
UPDATE :"schema".workflow_steps s
   SET processed = true, in_process = false, processed_at = now(),
       updated_at = now()
\ir ../parts/steps_moved.sql
   AND x.to_state = 'cancelled' AND x.created_at = localtimestamp

-- :change
WITH
\ir ../parts/seen.sql
SELECT :"schema".transition_task_state_atomic(n.task_uuid, x.to_state, ('cancelled')::varchar, NULL, jsonb_build_object(
         'event', 'Cancel', 'timestamp', now(), 'operator', $3::text, 'reason', $4::text, 'console', 'unstick',
         'action_id', pg_current_xact_id()::text))
  FROM seen n
  JOIN :"schema".task_transitions x ON x.task_uuid = n.task_uuid AND x.most_recent
 WHERE x.to_state NOT IN ('complete', 'error', 'cancelled', 'resolved_manually')

-- :change
-- needs: pgmq
WITH
\ir ../parts/involved.sql
, own_steps AS MATERIALIZED (
  SELECT s.workflow_step_uuid, 'worker_' || p.name || '_queue' AS queue
    FROM involved i
    JOIN :"schema".workflow_steps s ON s.task_uuid = i.task_uuid AND s.updated_at = localtimestamp
    JOIN :"schema".tasks t ON t.task_uuid = i.task_uuid
    JOIN :"schema".named_tasks n ON n.named_task_uuid = t.named_task_uuid
    JOIN :"schema".task_namespaces p ON p.task_namespace_uuid = n.task_namespace_uuid
),
queues AS MATERIALIZED (
  SELECT q.queue_name FROM pgmq.meta q
   WHERE $6::jsonb ->> 'queue' = 'pgmq'
     AND q.queue_name IN (SELECT o.queue FROM own_steps o UNION SELECT 'orchestration_step_results')
),
\ir ../parts/messages.sql
SELECT pgmq.archive(m.queue_name::text, (m.m ->> 'id')::int8)
  FROM own_steps o JOIN messages m ON m.m ->> 'step' = o.workflow_step_uuid::text

-- :change
SELECT i AS id
  FROM unnest($1::text[]) AS i
  JOIN :"schema".task_transitions x ON x.task_uuid = substr(i, 6)::uuid AND x.most_recent AND x.to_state = 'cancelled' AND x.created_at = localtimestamp
