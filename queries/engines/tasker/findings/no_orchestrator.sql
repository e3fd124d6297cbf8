-- Find messages that no orchestrator reads: never read, or not again after their time. Report the oldest of each queue.
-- Indexes: pgmq's primary keys (at most 2,000 messages of each queue).
WITH queues AS MATERIALIZED (
  SELECT q.queue_name FROM pgmq.meta q
   WHERE :settings ->> 'queue' = 'pgmq' AND q.queue_name LIKE 'orchestration\_%'
     AND (:ids IS NULL OR EXISTS (SELECT FROM unnest(:ids) AS i WHERE i LIKE 'message:' || q.queue_name || '/%'))
),
\ir ../parts/messages.sql
, late AS (
  SELECT m.queue_name, m.m ->> 'id' AS key, (m.m ->> CASE WHEN (m.m ->> 'read')::int = 0 THEN 'at' ELSE 'vt' END)::float8 AS since
    FROM messages m WHERE (m.m ->> 'due')::bool
),
oldest AS (
  SELECT DISTINCT ON (l.queue_name) l.queue_name, l.key, l.since, count(*) OVER (PARTITION BY l.queue_name) AS unread
    FROM late l
   ORDER BY l.queue_name, l.since, l.key::int8
)
(SELECT 'message:' || o.queue_name || '/' || o.key AS id, o.since,
        jsonb_build_object('queue', o.queue_name, 'table', lower('q_' || o.queue_name), 'messages',
                           CASE WHEN (SELECT count(*) FROM messages a WHERE a.queue_name = o.queue_name) = 2000 THEN to_jsonb(o.unread || '+') ELSE to_jsonb(o.unread) END,
                           'oldest', date_trunc('second', now() - to_timestamp(o.since))::text) AS evidence
   FROM oldest o
  WHERE o.since < extract(epoch FROM now()) - (:settings ->> 'no_orchestrator')::float8
    AND (:ids IS NULL OR 'message:' || o.queue_name || '/' || o.key = ANY (:ids))
\ir ../parts/page.sql
\ir ../parts/unread.sql
