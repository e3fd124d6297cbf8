-- The oldest message of each queue of the orchestrators among those that no orchestrator reads: never read, or not
-- again after their time. `moved`: how often orchestrators moved a task lately, among the newest 2,000 transitions.
-- Indexes: pgmq's primary keys (at most 2,000 messages of each queue); if a message is late, task_transitions_pkey.
queues AS MATERIALIZED (
  SELECT q.queue_name FROM pgmq.meta q
   WHERE :settings ->> 'queue' = 'pgmq' AND q.queue_name LIKE 'orchestration\_%'
     AND (:ids IS NULL OR EXISTS (SELECT FROM unnest(:ids) AS i WHERE i LIKE 'message:' || q.queue_name || '/%'))
),
\ir queue_tables.sql
, \ir messages.sql
, late AS (
  SELECT m.queue_name, m.m ->> 'id' AS key, to_timestamp((m.m ->> CASE WHEN (m.m ->> 'read')::int = 0 THEN 'at' ELSE 'vt' END)::float8) AS at
    FROM messages m WHERE (m.m ->> 'due')::bool
),
oldest AS (
  SELECT DISTINCT ON (l.queue_name) l.queue_name, l.key, l.at, count(*) OVER (PARTITION BY l.queue_name) AS unread
    FROM late l
   ORDER BY l.queue_name, l.at, l.key::int8
),
moves AS MATERIALIZED (
  SELECT count(*) FILTER (WHERE x.processor_uuid IS NOT NULL AND x.to_state IN ('initializing', 'enqueuing_steps', 'evaluating_results')
                            AND x.created_at BETWEEN localtimestamp - :picked_up AND localtimestamp) AS moved
    FROM (SELECT x.processor_uuid, x.to_state, x.created_at FROM :"schema".task_transitions x
           WHERE EXISTS (SELECT FROM oldest) ORDER BY x.task_transition_uuid DESC LIMIT 2000) AS x
),
nodes AS (
  SELECT 'message:' || o.queue_name || '/' || o.key AS id, o.*, (SELECT m.moved FROM moves m) AS moved, (SELECT count(*) FROM messages a WHERE a.queue_name = o.queue_name) = 2000 AS many
    FROM oldest o
),
unread AS (
  SELECT string_agg(u.queue_name || ': ' || u.unread, '; ' ORDER BY u.queue_name) AS unread
    FROM queue_tables u WHERE u.unread IS NOT NULL HAVING count(*) > 0
)
