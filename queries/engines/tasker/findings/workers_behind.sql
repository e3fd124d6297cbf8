-- Find namespaces whose queue has messages that wait too long although workers claim steps of the namespace.
WITH
\ir ../parts/late_queues.sql
SELECT 'namespace:' || l.task_namespace_uuid AS id, l.since,
       jsonb_build_object('queue', l.queue_name, 'table', lower('q_' || l.queue_name), 'messages', l.waiting, 'claims', c.n,
                          'span', round((:settings ->> 'no_worker')::numeric / 60) || ' min',
                          'oldest', date_trunc('second', now() - to_timestamp(l.since))::text) AS evidence
  FROM late l JOIN claims c ON c.task_namespace_uuid = l.task_namespace_uuid
 ORDER BY l.since, l.task_namespace_uuid
 LIMIT :limit
