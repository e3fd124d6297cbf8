-- The messages of all queues of the engine, or of the queues of the requested messages.
queues AS MATERIALIZED (
  SELECT q.queue_name FROM pgmq.meta q
   WHERE :settings ->> 'queue' = 'pgmq'
     AND (q.queue_name LIKE 'orchestration\_%' OR EXISTS (SELECT FROM :"schema".task_namespaces p WHERE p.name = substring(q.queue_name FROM '^worker_(.*)_queue$')))
     AND (:ids IS NULL OR EXISTS (SELECT FROM unnest(:ids) AS i WHERE i LIKE 'message:' || q.queue_name || '/%'))
),
\ir queue_tables.sql
, \ir messages.sql
, \ir unread.sql
  UNION ALL
  SELECT NULL FROM messages m GROUP BY m.queue_name HAVING count(*) = 2000
)
