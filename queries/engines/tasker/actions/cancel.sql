-- Cancel a task and all its steps that have not ended, in one transaction (the engine uses several). Running handlers
-- continue; the engine rejects their results. Archive their messages, because workers would read them again and again.

-- :refused
WITH \ir ../parts/asked_tasks.sql
SELECT a.id, r.why FROM asked_tasks a, LATERAL (SELECT coalesce(a.why,
  CASE WHEN a.to_state = 'error' THEN 'it is in error, so it has ended. The engine does not cancel an ended task' END) AS why) r
 WHERE r.why IS NOT NULL

-- :refused
-- needs: pgmq
-- Messages that cannot be read cannot be archived, and workers would read them again and again.
WITH of_queues AS MATERIALIZED (
  SELECT 'task:' || t.task_uuid AS id, q.queue_name
    FROM :"schema".tasks t
    JOIN :"schema".named_tasks n ON n.named_task_uuid = t.named_task_uuid
    JOIN :"schema".task_namespaces p ON p.task_namespace_uuid = n.task_namespace_uuid
    JOIN pgmq.meta q ON q.queue_name IN ('worker_' || p.name || '_queue', 'orchestration_step_results')
   WHERE t.task_uuid = ANY (:task_keys) AND :settings ->> 'queue' = 'pgmq'
),
queues AS (SELECT DISTINCT o.queue_name FROM of_queues o),
\ir ../parts/queue_tables.sql
, closed AS (SELECT t.queue_name, t.unread FROM queue_tables t WHERE t.relname IS NOT NULL AND t.unread IS NOT NULL)
SELECT o.id, 'messages about its steps cannot be archived: ' || string_agg(c.unread, ', ' ORDER BY c.unread) AS why
  FROM of_queues o JOIN closed c ON c.queue_name = o.queue_name
 GROUP BY o.id

-- :change
WITH \ir ../parts/steps_seen.sql
, moving AS MATERIALIZED (
  SELECT s.*, 'cancelled' AS becomes, '{"type":"Cancel"}' AS event
    FROM steps_seen s
   WHERE s.to_state NOT IN ('complete', 'cancelled', 'resolved_manually')
     AND s.node_state NOT IN ('complete', 'error', 'cancelled', 'resolved_manually')
),
\ir ../parts/left_behind.sql
, \ir ../parts/moved.sql
UPDATE :"schema".workflow_steps s
   SET processed = true, in_process = false, processed_at = now(), updated_at = now()
  FROM moved m
 WHERE s.workflow_step_uuid = m.workflow_step_uuid

-- :change
WITH \ir ../parts/seen.sql
SELECT :"schema".transition_task_state_atomic(n.task_uuid, n.state, 'cancelled', NULL, jsonb_build_object('event', 'Cancel',
         'timestamp', now(), 'operator', :operator, 'reason', :reason, 'console', 'unstick', 'action_id', pg_current_xact_id()::text))
  FROM seen n
 WHERE n.state NOT IN ('complete', 'error', 'cancelled', 'resolved_manually')

-- :change
-- needs: pgmq
WITH own_steps AS MATERIALIZED (
  SELECT s.workflow_step_uuid, 'worker_' || p.name || '_queue' AS queue
    FROM :"schema".tasks t
    JOIN :"schema".workflow_steps s ON s.task_uuid = t.task_uuid AND s.updated_at = localtimestamp
    JOIN :"schema".named_tasks n ON n.named_task_uuid = t.named_task_uuid
    JOIN :"schema".task_namespaces p ON p.task_namespace_uuid = n.task_namespace_uuid
   WHERE t.task_uuid = ANY (:task_keys)
),
queues AS MATERIALIZED (
  SELECT q.queue_name FROM pgmq.meta q
   WHERE :settings ->> 'queue' = 'pgmq'
     AND q.queue_name IN (SELECT o.queue FROM own_steps o UNION SELECT 'orchestration_step_results')
),
\ir ../parts/queue_tables.sql
, \ir ../parts/messages.sql
SELECT pgmq.archive(m.queue_name::text, (m.m ->> 'id')::int8)
  FROM own_steps o JOIN messages m ON m.m ->> 'step' = o.workflow_step_uuid::text

-- :change
SELECT i AS id
  FROM unnest(:ids) AS i
  JOIN :"schema".task_transitions x ON x.task_uuid = substr(i, 6)::uuid AND x.most_recent AND x.to_state = 'cancelled' AND x.created_at = localtimestamp
