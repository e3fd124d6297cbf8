-- The oldest message of each queue of the orchestrators among those that no orchestrator reads: never read, or not again after
-- their time.
-- Indexes: pgmq's primary keys (at most 2,000 messages of each queue).
queues AS MATERIALIZED (
  SELECT q.queue_name FROM pgmq.meta q
   WHERE :settings ->> 'queue' = 'pgmq' AND q.queue_name LIKE 'orchestration\_%'
     AND (:ids IS NULL OR EXISTS (SELECT FROM unnest(:ids) AS i WHERE i LIKE 'message:' || q.queue_name || '/%'))
),
\ir messages.sql
, late AS (
  SELECT m.queue_name, m.m ->> 'id' AS key, to_timestamp((m.m ->> CASE WHEN (m.m ->> 'read')::int = 0 THEN 'at' ELSE 'vt' END)::float8) AS at
    FROM messages m WHERE (m.m ->> 'due')::bool
),
oldest AS (
  SELECT DISTINCT ON (l.queue_name) l.queue_name, l.key, l.at, count(*) OVER (PARTITION BY l.queue_name) AS unread
    FROM late l
   ORDER BY l.queue_name, l.at, l.key::int8
),
nodes AS (
  SELECT 'message:' || o.queue_name || '/' || o.key AS id, o.*, (SELECT count(*) FROM messages a WHERE a.queue_name = o.queue_name) = 2000 AS many
    FROM oldest o
),
\ir unread.sql
)
