-- The messages of all queues of the engine, or of the queues of the requested messages.
queues AS MATERIALIZED (
  SELECT q.queue_name FROM pgmq.meta q
   WHERE :settings ->> 'queue' = 'pgmq'
     AND (q.queue_name LIKE 'orchestration\_%' OR q.queue_name IN (SELECT 'worker_' || p.name || '_queue' FROM :"schema".task_namespaces p))
     AND (:ids IS NULL OR EXISTS (SELECT FROM unnest(:ids) AS i WHERE i LIKE 'message:' || q.queue_name || '/%'))
),
\ir messages.sql
