-- Namespaces whose queue has messages that no worker has read for too long: never read, or not again after their time.
-- `claims` counts the steps of the namespace that workers claimed just now, among the newest 2,000 transitions. A queue
-- is read in order, so a step that was enqueued later than the oldest message proves nothing.
-- Indexes: pgmq's primary keys (at most 2,000 messages of each queue), task_namespaces(name), primary keys; claims are
-- read only if a queue is late.
spaces AS MATERIALIZED (
  SELECT p.task_namespace_uuid, q.queue_name
    FROM pgmq.meta q JOIN :"schema".task_namespaces p ON p.name = substring(q.queue_name FROM '^worker_(.*)_queue$')
   WHERE :settings ->> 'queue' = 'pgmq' AND (:ids IS NULL OR 'namespace:' || p.task_namespace_uuid = ANY (:ids))
),
queues AS MATERIALIZED (SELECT s.queue_name FROM spaces s),
\ir queue_tables.sql
, \ir messages.sql
, late AS MATERIALIZED (
  SELECT s.task_namespace_uuid, s.queue_name, min(m.since) AS since,
         CASE WHEN (SELECT count(*) FROM messages a WHERE a.queue_name = s.queue_name) = 2000 THEN to_jsonb(count(*) || '+') ELSE to_jsonb(count(*)) END AS waiting
    FROM (SELECT m.queue_name, (m.m ->> CASE WHEN (m.m ->> 'read')::int = 0 THEN 'at' ELSE 'vt' END)::float8 AS since
            FROM messages m WHERE (m.m ->> 'due')::bool) AS m
    JOIN spaces s ON s.queue_name = m.queue_name
   GROUP BY s.task_namespace_uuid, s.queue_name
  HAVING min(m.since) < extract(epoch FROM now()) - (:settings ->> 'no_worker')::float8
),
claimed AS MATERIALIZED (
  SELECT x.workflow_step_uuid
    FROM (SELECT x.workflow_step_uuid, x.to_state, x.created_at, x.workflow_step_transition_uuid AS key FROM :"schema".workflow_step_transitions x
           WHERE EXISTS (SELECT FROM late) ORDER BY x.workflow_step_transition_uuid DESC LIMIT 2000) AS x
   WHERE x.to_state = 'in_progress' AND x.created_at > now() - :no_worker
   ORDER BY x.key DESC LIMIT 200
),
sent AS MATERIALIZED (
  SELECT x.workflow_step_uuid, extract(epoch FROM max(x.created_at))::float8 AS at FROM :"schema".workflow_step_transitions x
   WHERE x.to_state = 'enqueued' AND x.workflow_step_uuid = ANY (ARRAY(SELECT c.workflow_step_uuid FROM claimed c))
   GROUP BY x.workflow_step_uuid
),
claimed_steps AS MATERIALIZED (
  SELECT s.task_uuid, s.workflow_step_uuid FROM :"schema".workflow_steps s
   WHERE s.workflow_step_uuid = ANY (ARRAY(SELECT c.workflow_step_uuid FROM sent c))
),
claimed_tasks AS MATERIALIZED (
  SELECT t.task_uuid, t.named_task_uuid FROM :"schema".tasks t WHERE t.task_uuid = ANY (ARRAY(SELECT s.task_uuid FROM claimed_steps s))
),
claims AS MATERIALIZED (
  SELECT n.task_namespace_uuid, count(*) AS n
    FROM claimed_steps s
    JOIN sent e ON e.workflow_step_uuid = s.workflow_step_uuid
    JOIN claimed_tasks t ON t.task_uuid = s.task_uuid
    JOIN :"schema".named_tasks n ON n.named_task_uuid = t.named_task_uuid
    JOIN late l ON l.task_namespace_uuid = n.task_namespace_uuid AND e.at <= l.since + 60
   GROUP BY n.task_namespace_uuid
),
nodes AS (
  SELECT 'namespace:' || l.task_namespace_uuid AS id, l.*, to_timestamp(l.since) AS at, c.n AS claims
    FROM late l LEFT JOIN claims c ON c.task_namespace_uuid = l.task_namespace_uuid
),
unread AS (
  SELECT string_agg(u.queue_name || ': ' || u.unread, '; ' ORDER BY u.queue_name) AS unread
    FROM queue_tables u WHERE u.unread IS NOT NULL HAVING count(*) > 0
)
