-- Find namespaces whose queue has messages that no worker reads: old unread ones, and no step was claimed meanwhile.
-- kinds: namespace
-- needs: pgmq
-- $1 ids text[]: restrict to these local ids; NULL for all
-- $2 settings jsonb
-- $3 page int: maximum number of rows
-- Indexes: those of the included part.
WITH
\ir ../parts/late_queues.sql
(SELECT 'namespace:' || l.task_namespace_uuid AS id, l.since,
       jsonb_build_object('queue', l.queue_name, 'table', lower('q_' || l.queue_name), 'messages', l.waiting,
                          'oldest', date_trunc('second', now() - to_timestamp(l.since))::text) AS evidence
  FROM late l
 WHERE l.task_namespace_uuid NOT IN (SELECT c.task_namespace_uuid FROM claims c)
 ORDER BY l.since, l.task_namespace_uuid
 LIMIT $3::int)
\ir ../parts/unread.sql
