-- Tasks in the middle of an orchestrator's work for minutes: neither the poller nor the staleness detector sees them.
-- kinds: task
-- $1 ids text[]: only for these local ids, or NULL
-- $2 limits jsonb
-- $3 page int: how many at most
-- $4 have text[]
-- Indexes: those of the included part.
WITH RECURSIVE wanted AS (SELECT unnest(ARRAY['initializing', 'enqueuing_steps', 'evaluating_results']) AS to_state),
\ir ../parts/open_tasks.sql
(SELECT 'task:' || o.task_uuid AS id, extract(epoch FROM o.at)::float8 AS since,
        jsonb_build_object('state', o.to_state, 'entered', date_trunc('second', o.at)::text,
          'age', date_trunc('second', now() - o.at)::text, 'orchestrator', coalesce(o.processor_uuid::text, 'not recorded')) AS evidence
   FROM open_tasks o
  WHERE o.at < now() - make_interval(secs => ($2::jsonb ->> 'orchestrator')::float8)
  ORDER BY o.at, o.task_uuid
  LIMIT $3::int)
UNION ALL
SELECT NULL, NULL, NULL FROM more
