-- Find namespaces whose queue has messages that no worker reads: old unread ones, and no step was claimed meanwhile.
WITH
\ir ../parts/late_queues.sql
(SELECT 'namespace:' || l.task_namespace_uuid AS id, l.since,
       jsonb_build_object('queue', l.queue_name, 'table', lower('q_' || l.queue_name), 'messages', l.waiting,
                          'oldest', date_trunc('second', now() - to_timestamp(l.since))::text) AS evidence
  FROM late l
 WHERE l.task_namespace_uuid NOT IN (SELECT c.task_namespace_uuid FROM claims c)
\ir ../parts/page.sql
\ir ../parts/unread.sql
