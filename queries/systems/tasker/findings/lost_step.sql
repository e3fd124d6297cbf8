-- Steps handed to the workers whose message is in no queue: it is sent after the state is written, and may get lost.
-- needs: pgmq
-- $1 ids text[]: only for these local ids, or NULL
-- $2 limits jsonb
-- $3 page int: how many at most
-- Indexes: those of the included part. A queue of 20,000 messages or more tells nothing of what it lacks.
WITH
\ir ../parts/open_steps.sql
, handed AS MATERIALIZED (
  SELECT s.workflow_step_uuid, x.created_at AS at, 'worker_' || p.name || '_queue' AS queue
    FROM open_steps o
    JOIN workflow_steps s ON s.workflow_step_uuid = o.workflow_step_uuid
    JOIN workflow_step_transitions x ON x.workflow_step_uuid = s.workflow_step_uuid AND x.most_recent
    JOIN tasks t ON t.task_uuid = s.task_uuid
    JOIN named_tasks n ON n.named_task_uuid = t.named_task_uuid
    JOIN task_namespaces p ON p.task_namespace_uuid = n.task_namespace_uuid
   WHERE o.to_state = 'enqueued' AND $2::jsonb ->> 'queue' = 'pgmq'
     AND x.created_at < now() - make_interval(secs => 2 * ($2::jsonb ->> 'visibility')::float8)
),
queues AS MATERIALIZED (SELECT q.queue_name FROM pgmq.meta q WHERE q.queue_name IN (SELECT h.queue FROM handed h)),
\ir ../parts/messages.sql
SELECT 'step:' || h.workflow_step_uuid AS id, extract(epoch FROM h.at)::float8 AS since,
       jsonb_build_object('queue', h.queue, 'enqueued', date_trunc('second', h.at)::text,
         'messages', (SELECT count(*) FROM messages m WHERE m.queue_name = h.queue),
         'there', CASE WHEN EXISTS (SELECT FROM queues q WHERE q.queue_name = h.queue) THEN 'the queue is there' ELSE 'there is no such queue' END) AS evidence
  FROM handed h
 WHERE NOT EXISTS (SELECT FROM messages m WHERE m.queue_name = h.queue AND m.m ->> 'step' = h.workflow_step_uuid::text)
   AND (SELECT count(*) FROM messages m WHERE m.queue_name = h.queue) < 20000
 ORDER BY h.at, h.workflow_step_uuid
 LIMIT $3::int
