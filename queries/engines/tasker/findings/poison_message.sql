-- Find messages that are read again and again: read often, or of a step that has ended (workers never acknowledge those).
-- kinds: message
-- needs: pgmq
-- $1 ids text[]: restrict to these local ids; NULL for all
-- $2 settings jsonb
-- $3 page int: maximum number of rows
-- Indexes: pgmq's primary keys (at most 2,000 messages of each queue), idx_workflow_step_transitions_state_lookup.
WITH queues AS MATERIALIZED (
  SELECT q.queue_name FROM pgmq.meta q
   WHERE $2::jsonb ->> 'queue' = 'pgmq'
     AND (q.queue_name LIKE 'orchestration\_%' OR q.queue_name IN (SELECT 'worker_' || p.name || '_queue' FROM :"schema".task_namespaces p))
     AND ($1::text[] IS NULL OR EXISTS (SELECT FROM unnest($1::text[]) AS i WHERE i LIKE 'message:' || q.queue_name || '/%'))
),
\ir ../parts/messages.sql
, returned AS MATERIALIZED (
  SELECT m.queue_name, m.m,
         CASE WHEN m.m ->> 'step' ~* '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$' THEN (m.m ->> 'step')::uuid END AS step
    FROM messages m WHERE (m.m ->> 'read')::int > 1
),
current AS MATERIALIZED (
  SELECT x.workflow_step_uuid, x.to_state FROM :"schema".workflow_step_transitions x
   WHERE x.most_recent AND x.workflow_step_uuid = ANY (ARRAY(SELECT r.step FROM returned r))
),
judged AS MATERIALIZED (SELECT r.queue_name, r.m, x.to_state FROM returned r FULL JOIN current x ON x.workflow_step_uuid = r.step)
(SELECT 'message:' || j.queue_name || '/' || (j.m ->> 'id') AS id, (j.m ->> 'at')::float8 AS since,
       jsonb_build_object('queue', j.queue_name, 'reads', (j.m ->> 'read')::int, 'state', coalesce(j.to_state, 'unknown'),
         'step', coalesce(j.m ->> 'step', '?'), 'task', coalesce(j.m ->> 'task', '?'),
         'why', CASE WHEN j.to_state IN ('complete', 'cancelled', 'resolved_manually') THEN 'Its step is already ' || j.to_state
                     ELSE 'No reader could process it' END) AS evidence
  FROM judged j
 WHERE ((j.m ->> 'read')::int > ($2::jsonb ->> 'poison_reads')::float8
        OR (j.queue_name LIKE 'worker\_%' AND (j.m ->> 'read')::int > 1 AND j.to_state IN ('complete', 'cancelled', 'resolved_manually')))
   AND ($1::text[] IS NULL OR 'message:' || j.queue_name || '/' || (j.m ->> 'id') = ANY ($1::text[]))
 ORDER BY (j.m ->> 'at')::float8, 1
 LIMIT $3::int)
\ir ../parts/unread.sql
