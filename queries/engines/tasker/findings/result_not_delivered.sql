-- Find steps whose result waits for an orchestrator, but whose message is missing.
-- kinds: step
-- needs: pgmq
-- $1 ids text[]: restrict to these local ids; NULL for all
-- $2 settings jsonb
-- $3 page int: maximum number of rows
-- $4 met_needs text[]
-- Indexes: those of the included part. A queue of 2,000 or more messages is not read completely, so it proves nothing.
WITH wanted AS (SELECT unnest(ARRAY['enqueued_for_orchestration', 'enqueued_as_error_for_orchestration']) AS to_state),
\ir ../parts/open_steps.sql
,
\ir ../parts/ended_tasks.sql
, handed AS MATERIALIZED (
  SELECT s.workflow_step_uuid, s.task_uuid, s.at, s.to_state
    FROM open_steps s
   WHERE $2::jsonb ->> 'queue' = 'pgmq' AND s.at < now() - make_interval(secs => 2 * ($2::jsonb ->> 'visibility')::float8)
     AND s.task_uuid NOT IN (SELECT t.task_uuid FROM ended_tasks t)
),
queues AS MATERIALIZED (
  SELECT q.queue_name FROM pgmq.meta q WHERE q.queue_name = 'orchestration_step_results' AND EXISTS (SELECT FROM handed)
),
\ir ../parts/messages.sql
(SELECT 'step:' || h.workflow_step_uuid AS id, extract(epoch FROM h.at)::float8 AS since,
        jsonb_build_object('state', h.to_state, 'entered', date_trunc('second', h.at)::text,
                           'messages', (SELECT count(*) FROM messages), 'task', h.task_uuid) AS evidence
   FROM handed h
  WHERE h.workflow_step_uuid::text NOT IN (SELECT m.m ->> 'step' FROM messages m WHERE m.m ->> 'step' IS NOT NULL) -- hashed
    AND (SELECT count(*) FROM messages) < 2000
    AND NOT EXISTS (SELECT FROM unread_queues)
  ORDER BY h.at, h.workflow_step_uuid
  LIMIT $3::int)
UNION ALL
SELECT NULL, NULL, NULL WHERE EXISTS (SELECT FROM more) OR (SELECT count(*) FROM messages) = 2000
\ir ../parts/unread.sql
