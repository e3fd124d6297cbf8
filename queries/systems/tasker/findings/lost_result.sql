-- Steps whose result waits to be taken in, with no message that would tell the orchestrator so.
-- needs: pgmq
-- $1 ids text[]: only for these local ids, or NULL
-- $2 limits jsonb
-- $3 page int: how many at most
-- Indexes: those of the included part. A queue of 20,000 messages or more tells nothing of what it lacks.
WITH
\ir ../parts/open_steps.sql
, handed AS MATERIALIZED (
  SELECT s.workflow_step_uuid, x.created_at AS at, o.to_state
    FROM open_steps o
    JOIN workflow_steps s ON s.workflow_step_uuid = o.workflow_step_uuid
    JOIN workflow_step_transitions x ON x.workflow_step_uuid = s.workflow_step_uuid AND x.most_recent
   WHERE o.to_state IN ('enqueued_for_orchestration', 'enqueued_as_error_for_orchestration') AND $2::jsonb ->> 'queue' = 'pgmq'
     AND x.created_at < now() - make_interval(secs => 2 * ($2::jsonb ->> 'visibility')::float8)
),
queues AS MATERIALIZED (
  SELECT q.queue_name FROM pgmq.meta q WHERE q.queue_name = 'orchestration_step_results' AND EXISTS (SELECT FROM handed)
),
\ir ../parts/messages.sql
SELECT 'step:' || h.workflow_step_uuid AS id, extract(epoch FROM h.at)::float8 AS since,
       jsonb_build_object('state', h.to_state, 'entered', date_trunc('second', h.at)::text,
                          'messages', (SELECT count(*) FROM messages)) AS evidence
  FROM handed h
 WHERE NOT EXISTS (SELECT FROM messages m WHERE m.m ->> 'step' = h.workflow_step_uuid::text)
   AND (SELECT count(*) FROM messages) < 20000
 ORDER BY h.at, h.workflow_step_uuid
 LIMIT $3::int
