-- Find steps that wait far longer for a worker or an orchestrator than steps of their name usually do, if their queue
-- tells nothing: it cannot be read, or is too long to read. Other findings name lost, unread or hidden messages.
-- Neither this file nor late.sql is derived: a derived finding is the same wherever the engine's queues are.
-- Indexes: those of the included parts; steps are read only if a queue tells nothing.
WITH queues AS MATERIALIZED (
  SELECT q.queue_name FROM pgmq.meta q
   WHERE :settings ->> 'queue' = 'pgmq'
     AND (q.queue_name = 'orchestration_step_results'
          OR EXISTS (SELECT FROM :"schema".task_namespaces p WHERE p.name = substring(q.queue_name FROM '^worker_(.*)_queue$')))
),
\ir ../parts/queue_tables.sql
, \ir ../parts/messages.sql
, silent AS MATERIALIZED (
  SELECT u.queue_name, 'Its queue cannot be read, so the cause is unknown' AS why FROM queue_tables u WHERE u.unread IS NOT NULL
  UNION ALL
  SELECT m.queue_name, 'Only the first 2,000 messages of its queue are read, so the cause is unknown'
    FROM messages m
   GROUP BY m.queue_name
  HAVING count(*) = 2000
     AND NOT bool_or((m.m ->> 'due')::bool AND (m.m ->> CASE WHEN (m.m ->> 'read')::int = 0 THEN 'at' ELSE 'vt' END)::float8
                                               < extract(epoch FROM now()) - (:settings ->> 'no_worker')::float8)
  UNION ALL
  SELECT NULL, 'The engine''s messages are not in this database, so the cause is unknown' WHERE :settings ->> 'queue' <> 'pgmq'
),
\ir ../parts/overdue.sql
SELECT o.* FROM overdue o
