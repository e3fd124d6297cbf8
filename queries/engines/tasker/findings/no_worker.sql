-- Find namespaces whose queue has old unread messages, so no worker reads it.
-- kinds: namespace
-- needs: pgmq
-- $1 ids text[]: restrict to these local ids; NULL for all
-- $2 settings jsonb
-- $3 page int: maximum number of rows
-- Indexes: pgmq's primary keys (at most 2,000 messages of each queue).
WITH spaces AS MATERIALIZED (
  SELECT p.task_namespace_uuid, 'worker_' || p.name || '_queue' AS queue_name FROM :"schema".task_namespaces p
   WHERE $1::text[] IS NULL OR 'namespace:' || p.task_namespace_uuid = ANY ($1::text[])
),
queues AS MATERIALIZED (
  SELECT q.queue_name FROM pgmq.meta q JOIN spaces s ON s.queue_name = q.queue_name WHERE $2::jsonb ->> 'queue' = 'pgmq'
),
\ir ../parts/messages.sql
(SELECT 'namespace:' || s.task_namespace_uuid AS id, w.since,
       jsonb_build_object('queue', s.queue_name, 'messages', w.waiting,
                          'oldest', date_trunc('second', now() - to_timestamp(w.since))::text) AS evidence
  FROM spaces s
  JOIN (SELECT m.queue_name, min((m.m ->> 'at')::float8) AS since, count(*) AS waiting
          FROM messages m WHERE (m.m ->> 'read')::int = 0 AND (m.m ->> 'due')::bool GROUP BY m.queue_name) AS w ON w.queue_name = s.queue_name
 WHERE w.since < extract(epoch FROM now()) - ($2::jsonb ->> 'no_worker')::float8
 ORDER BY w.since, s.task_namespace_uuid
 LIMIT $3::int)
\ir ../parts/unread.sql
