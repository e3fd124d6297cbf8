-- Messages that were read more than once, with the state of their step.
-- Indexes: pgmq's primary keys (at most 2,000 messages of each queue), idx_workflow_step_transitions_state_lookup.
\ir all_messages.sql
, returned AS MATERIALIZED (
  SELECT m.queue_name, m.m,
         CASE WHEN m.m ->> 'step' ~* '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$' THEN (m.m ->> 'step')::uuid END AS step
    FROM messages m WHERE (m.m ->> 'read')::int > 1
),
current AS MATERIALIZED (
  SELECT x.workflow_step_uuid, x.to_state FROM :"schema".workflow_step_transitions x
   WHERE x.most_recent AND x.workflow_step_uuid = ANY (ARRAY(SELECT r.step FROM returned r))
),
nodes AS (
  SELECT 'message:' || r.queue_name || '/' || (r.m ->> 'id') AS id, r.queue_name, r.m, (r.m ->> 'read')::int AS reads, x.to_state,
         x.to_state IN ('complete', 'cancelled', 'resolved_manually') AS ended
    FROM returned r FULL JOIN current x ON x.workflow_step_uuid = r.step
)
