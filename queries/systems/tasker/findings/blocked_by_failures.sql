-- Tasks that rest because a step failed for good.
-- kinds: task
-- $1 ids text[]: only for these local ids, or NULL
-- $2 limits jsonb
-- $3 page int: how many at most
-- $4 have text[]
-- Indexes: those of the included part, workflow_steps' task_covering.
WITH RECURSIVE wanted AS (SELECT unnest(ARRAY['blocked_by_failures']) AS to_state),
\ir ../parts/open_tasks.sql
(SELECT 'task:' || b.task_uuid AS id, extract(epoch FROM b.at)::float8 AS since,
        jsonb_build_object('failed', f.steps, 'steps', coalesce(f.names, 'none'), 'message', coalesce(f.message, 'no message'),
                           'entered', date_trunc('second', b.at)::text) AS evidence
   FROM (SELECT o.task_uuid, o.at
           FROM open_tasks o
          WHERE o.at < now() - make_interval(secs => ($2::jsonb ->> 'blocked')::float8)
          ORDER BY o.at, o.task_uuid
          LIMIT $3::int) AS b
   LEFT JOIN LATERAL (
     SELECT count(*) AS steps, left(string_agg(n.name, ', ' ORDER BY s.workflow_step_uuid), 200) AS names,
            (array_agg(left(s.results #>> '{error,message}', 200) ORDER BY s.workflow_step_uuid))[1] AS message
       FROM workflow_steps s
       JOIN workflow_step_transitions y ON y.workflow_step_uuid = s.workflow_step_uuid AND y.most_recent AND y.to_state = 'error'
       JOIN named_steps n ON n.named_step_uuid = s.named_step_uuid
      WHERE s.task_uuid = b.task_uuid) AS f ON true
  ORDER BY b.at, b.task_uuid)
UNION ALL
SELECT NULL, NULL, NULL FROM more
