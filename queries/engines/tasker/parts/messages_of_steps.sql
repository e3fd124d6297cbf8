-- The messages of the queues in which messages of `own_steps(queue)` can be.
queues AS MATERIALIZED (
  SELECT q.queue_name FROM pgmq.meta q
   WHERE :settings ->> 'queue' = 'pgmq'
     AND q.queue_name IN (SELECT o.queue FROM own_steps o UNION SELECT 'orchestration_step_results')
),
\ir messages.sql
