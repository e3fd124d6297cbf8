-- Tasks that wait for steps in process while none is: the word that should have moved them on was lost.
-- kinds: task
-- $1 ids text[]: only for these local ids, or NULL
-- $2 limits jsonb
-- $3 page int: how many at most
-- $4 have text[]
-- Indexes: those of the included part, idx_workflow_steps_ready_covering.
WITH wanted AS (SELECT unnest(ARRAY['steps_in_process']) AS to_state),
\ir ../parts/open_tasks.sql
(SELECT 'task:' || o.task_uuid AS id, extract(epoch FROM x.created_at)::float8 AS since,
        jsonb_build_object('entered', date_trunc('second', x.created_at)::text, 'age', date_trunc('second', now() - x.created_at)::text) AS evidence
   FROM open_tasks o
   CROSS JOIN LATERAL (SELECT x.created_at FROM task_transitions x WHERE x.task_uuid = o.task_uuid AND x.most_recent OFFSET 0) AS x
  WHERE x.created_at < now() - make_interval(secs => ($2::jsonb ->> 'idle')::float8)
    AND NOT EXISTS (
      SELECT FROM workflow_steps s
        JOIN workflow_step_transitions y ON y.workflow_step_uuid = s.workflow_step_uuid AND y.most_recent
       WHERE s.task_uuid = o.task_uuid AND (y.to_state = 'in_progress' OR y.to_state LIKE 'enqueued%'
              OR y.created_at > now() - make_interval(secs => ($2::jsonb ->> 'idle')::float8)))
  ORDER BY x.created_at, o.task_uuid
  LIMIT $3::int)
UNION ALL
SELECT NULL, NULL, NULL FROM more
