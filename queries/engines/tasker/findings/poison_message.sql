-- Find messages that are read again and again: read often, or of a step that has ended (workers never acknowledge those).
-- Indexes: pgmq's primary keys (at most 2,000 messages of each queue), idx_workflow_step_transitions_state_lookup.
WITH
\ir ../parts/all_messages.sql
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
 WHERE ((j.m ->> 'read')::int > :poison_reads
        OR (j.queue_name LIKE 'worker\_%' AND (j.m ->> 'read')::int > 1 AND j.to_state IN ('complete', 'cancelled', 'resolved_manually')))
   AND (:ids IS NULL OR 'message:' || j.queue_name || '/' || (j.m ->> 'id') = ANY (:ids))
\ir ../parts/page.sql
\ir ../parts/unread.sql
