-- Cancel a task and all its steps that have not ended, in one transaction (the engine uses several). Running handlers
-- continue; the engine rejects their results. Archive their messages, because workers would read them again and again.

\ir ../parts/task_refusals.sql
                WHEN x.to_state = 'error' THEN 'it is in error, so it has ended. The engine does not cancel an ended task' END AS why
\ir ../parts/refused_tasks.sql

-- :refused
-- needs: pgmq
-- Messages that cannot be read cannot be archived, and workers would read them again and again.
WITH
\ir ../parts/involved.sql
, of_queues AS MATERIALIZED (
  SELECT i.id, q.queue_name
    FROM involved i
    JOIN :"schema".tasks t ON t.task_uuid = i.task_uuid
\ir ../parts/namespace_of_task.sql
    JOIN pgmq.meta q ON q.queue_name IN ('worker_' || p.name || '_queue', 'orchestration_step_results')
   WHERE :settings ->> 'queue' = 'pgmq'
),
queues AS (SELECT DISTINCT o.queue_name FROM of_queues o),
\ir ../parts/queue_tables.sql
closed AS (SELECT t.queue_name, t.unread FROM queue_tables t WHERE t.relname IS NOT NULL AND t.unread IS NOT NULL)
SELECT o.id, 'messages about its steps cannot be archived: ' || string_agg(c.unread, ', ' ORDER BY c.unread) AS why
  FROM of_queues o JOIN closed c ON c.queue_name = o.queue_name
 GROUP BY o.id

\set state cancelled
\set event Cancel
\ir ../parts/change_moving.sql
    JOIN :"schema".task_transitions y ON y.task_uuid = n.task_uuid AND y.most_recent
     AND y.to_state NOT IN ('complete', 'error', 'cancelled', 'resolved_manually')
   WHERE x.to_state NOT IN ('complete', 'cancelled', 'resolved_manually')
\ir ../parts/steps_ended.sql

\ir ../parts/change_seen.sql
SELECT :"schema".transition_task_state_atomic(n.task_uuid, x.to_state, ('cancelled')::varchar, NULL, jsonb_build_object(
         'event', 'Cancel',
\ir ../parts/seen_tasks.sql
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
\ir ../parts/namespace_of_task.sql
),
\ir ../parts/messages_of_steps.sql
SELECT pgmq.archive(m.queue_name::text, (m.m ->> 'id')::int8)
  FROM own_steps o JOIN messages m ON m.m ->> 'step' = o.workflow_step_uuid::text

-- :change
SELECT i AS id
  FROM unnest(:ids) AS i
  JOIN :"schema".task_transitions x ON x.task_uuid = substr(i, 6)::uuid AND x.most_recent AND x.to_state = 'cancelled' AND x.created_at = localtimestamp
