-- Request a new task with the same context through the engine's request queue, because only the engine can create
-- steps. The old task must have ended. Free its identity, because two tasks cannot share one. A request can be repeated
-- if it is no longer in the queue and no task came of it.

-- :lock
WITH \ir ../parts/locked_tasks.sql
SELECT 'task:' || l.task_uuid AS id, l.version FROM locked_tasks l

-- :refused
WITH \ir ../parts/asked_tasks.sql
SELECT a.id, r.why FROM asked_tasks a, LATERAL (SELECT
  CASE WHEN a.to_state IS NULL THEN a.why
       WHEN a.to_state NOT IN ('complete', 'error', 'cancelled', 'resolved_manually')
       THEN 'it is ' || a.to_state || '. Cancel it or give it up first, or two tasks do the same work'
       WHEN a.identity_hash LIKE '%:superseded:%'
            AND EXISTS (SELECT FROM :"schema".tasks n WHERE n.parent_correlation_id = a.correlation_id)
       THEN 'it was already restarted. Another task names it as its parent' END AS why) r
 WHERE r.why IS NOT NULL

-- :refused
-- needs: pgmq
WITH queues AS (SELECT 'orchestration_task_requests'::text AS queue_name),
\ir ../parts/queue_tables.sql
, \ir ../parts/messages.sql
SELECT DISTINCT i AS id, 'it was already restarted. The request is waiting in orchestration_task_requests' AS why
  FROM unnest(:ids) AS i JOIN messages m ON m.m ->> 'restarts' = substr(i, 6)
UNION
SELECT i, 'a request may already be waiting, but the queue cannot be read: ' || u.unread FROM unnest(:ids) AS i JOIN queue_tables u ON u.unread IS NOT NULL

-- :change
WITH \ir ../parts/seen.sql
UPDATE :"schema".tasks t
   SET identity_hash = CASE WHEN t.identity_hash LIKE '%:superseded:%' THEN t.identity_hash
                            ELSE left(t.identity_hash, 100) || ':superseded:' || right(t.task_uuid::text, 12) END,
       updated_at = now()
  FROM seen n
 WHERE t.task_uuid = n.task_uuid AND n.state IN ('complete', 'error', 'cancelled', 'resolved_manually')

-- :change
SELECT s.id FROM (
  SELECT 'task:' || t.task_uuid AS id, :"schema".pgmq_send_with_notify('orchestration_task_requests', jsonb_build_object(
           'request_id', gen_random_uuid(),
           'task_request', jsonb_build_object(
             'name', n.name, 'namespace', p.name, 'version', n.version, 'context', coalesce(t.context, '{}'), 'initiator', :operator,
             'source_system', 'unstick', 'reason', left(:reason, 128), 'tags', coalesce(t.tags, '[]'), 'requested_at', localtimestamp,
             'options', '{}'::jsonb, 'priority', t.priority, 'correlation_id', gen_random_uuid(), 'parent_correlation_id', t.correlation_id),
           'metadata', jsonb_build_object('requested_at', now(), 'requester', :operator, 'priority', 'Normal',
                                          'custom', jsonb_build_object('restarts', t.task_uuid, 'console', 'unstick')))) AS sent
    FROM unnest(:ids) AS i
    JOIN :"schema".tasks t ON t.task_uuid = substr(i, 6)::uuid AND t.updated_at = localtimestamp
    JOIN :"schema".named_tasks n ON n.named_task_uuid = t.named_task_uuid
    JOIN :"schema".task_namespaces p ON p.task_namespace_uuid = n.task_namespace_uuid
  OFFSET 0) AS s
 WHERE s.sent IS NOT NULL
