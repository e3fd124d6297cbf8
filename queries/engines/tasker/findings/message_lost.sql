-- Find enqueued steps whose message is missing. The engine sends it after it writes the state, so it can be lost.
-- kinds: step
-- needs: pgmq
-- $1 ids text[]: restrict to these local ids; NULL for all
-- $2 settings jsonb
-- $3 page int: maximum number of rows
-- $4 met_needs text[]
-- Indexes: those of the included part. A queue of 2,000 or more messages is not read completely, so it proves nothing.
WITH wanted AS (SELECT unnest(ARRAY['enqueued']) AS to_state),
\ir ../parts/open_steps.sql
,
\ir ../parts/ended_tasks.sql
, their_tasks AS MATERIALIZED (
  SELECT t.task_uuid, t.named_task_uuid FROM :"schema".tasks t WHERE t.task_uuid = ANY (ARRAY(SELECT s.task_uuid FROM open_steps s))
),
step_tasks AS MATERIALIZED (
  SELECT s.workflow_step_uuid, s.at, s.task_uuid, t.named_task_uuid FROM open_steps s FULL JOIN their_tasks t ON t.task_uuid = s.task_uuid
),
handed AS MATERIALIZED (
  SELECT s.workflow_step_uuid, s.task_uuid, s.at, 'worker_' || p.name || '_queue' AS queue
    FROM step_tasks s
    JOIN :"schema".named_tasks n ON n.named_task_uuid = s.named_task_uuid
    JOIN :"schema".task_namespaces p ON p.task_namespace_uuid = n.task_namespace_uuid
   WHERE $2::jsonb ->> 'queue' = 'pgmq' AND s.at < now() - make_interval(secs => 2 * ($2::jsonb ->> 'visibility')::float8)
     AND s.task_uuid NOT IN (SELECT e.task_uuid FROM ended_tasks e)
),
queues AS MATERIALIZED (SELECT q.queue_name FROM pgmq.meta q WHERE q.queue_name IN (SELECT h.queue FROM handed h)),
\ir ../parts/messages.sql
, sizes AS MATERIALIZED (SELECT m.queue_name, count(*) AS n FROM messages m GROUP BY m.queue_name)
(SELECT 'step:' || h.workflow_step_uuid AS id, extract(epoch FROM h.at)::float8 AS since,
        jsonb_build_object('queue', h.queue, 'enqueued', date_trunc('second', h.at)::text,
          'messages', coalesce(z.n, 0), 'task', h.task_uuid,
          'there', CASE WHEN k.known THEN 'the queue exists' ELSE 'the queue does not exist' END) AS evidence,
        k.known AS suggest
   FROM handed h
   LEFT JOIN sizes z ON z.queue_name = h.queue
  CROSS JOIN LATERAL (SELECT h.queue IN (SELECT q.queue_name FROM queues q) AS known) AS k
  WHERE (h.queue, h.workflow_step_uuid::text) NOT IN (SELECT m.queue_name::text, m.m ->> 'step' FROM messages m WHERE m.m ->> 'step' IS NOT NULL) -- hashed
    AND coalesce(z.n, 0) < 2000
    AND h.queue NOT IN (SELECT u.queue_name FROM unread_queues u)
  ORDER BY h.at, h.workflow_step_uuid
  LIMIT $3::int)
UNION ALL
SELECT NULL, NULL, NULL, NULL WHERE EXISTS (SELECT FROM more) OR EXISTS (SELECT FROM sizes z WHERE z.n = 2000)
UNION ALL
SELECT u.*, NULL FROM (
SELECT NULL::text, NULL::float8, NULL::jsonb WHERE false
\ir ../parts/unread.sql
) AS u
