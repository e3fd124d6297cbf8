-- Messages with the seconds for which their queue hides them; and once more, as `returned`, those that were read more
-- than once, with the state of their step. A finding selects one of the two sorts; the planner then reads only this one.
-- A time of sending that is ahead of the server's clock makes the age of a message look harmless.
-- Indexes: pgmq's primary keys (at most 2,000 messages of each queue), idx_workflow_step_transitions_state_lookup.
queues AS MATERIALIZED (
  SELECT q.queue_name FROM pgmq.meta q
   WHERE :settings ->> 'queue' = 'pgmq'
     AND (q.queue_name LIKE 'orchestration\_%'
          OR EXISTS (SELECT FROM :"schema".task_namespaces p
                      WHERE p.name = substring(q.queue_name FROM '^worker_(.*)_queue$')))
     AND (:ids IS NULL OR EXISTS (SELECT FROM unnest(:ids) AS i WHERE i LIKE 'message:' || q.queue_name || '/%'))
),
\ir queue_tables.sql
, \ir messages.sql
, \ir unread.sql
, returned AS MATERIALIZED (
  SELECT m.*,
         CASE WHEN m.m ->> 'step' ~* '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$' THEN (m.m ->> 'step')::uuid END AS step
    FROM messages m WHERE (m.m ->> 'read')::int > 1
),
current AS MATERIALIZED (
  SELECT x.workflow_step_uuid, x.to_state FROM :"schema".workflow_step_transitions x
   WHERE x.most_recent AND x.workflow_step_uuid = ANY (ARRAY(SELECT r.step FROM returned r))
),
nodes AS (
  SELECT 'message:' || f.queue_name || '/' || (f.m ->> 'id') AS id, f.*, to_timestamp((f.m ->> 'at')::float8) AS at,
         (f.m ->> 'vt')::float8 - extract(epoch FROM now())::float8 AS hidden, (f.m ->> 'read')::int AS reads,
         f.to_state IN ('complete', 'cancelled', 'resolved_manually') AS ended
    FROM (SELECT m.queue_name, m.m, false AS returned, NULL AS to_state FROM messages m
          UNION ALL
          SELECT r.queue_name, r.m, true, x.to_state
            FROM returned r FULL JOIN current x ON x.workflow_step_uuid = r.step) AS f
)
