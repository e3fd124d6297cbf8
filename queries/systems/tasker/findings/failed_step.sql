-- Steps in error: the engine never tries them again by itself.
-- $1 ids text[]: only for these local ids, or NULL
-- $2 limits jsonb
-- $3 page int: how many at most
-- Indexes: those of the included part.
WITH
\ir ../parts/open_steps.sql
SELECT 'step:' || b.workflow_step_uuid AS id, extract(epoch FROM b.at)::float8 AS since,
       jsonb_build_object('attempts', coalesce(s.attempts, 0) || '/' || coalesce(s.max_attempts, 3),
         'why', CASE WHEN NOT s.retryable THEN 'it is marked as not retryable'
                     WHEN coalesce(s.attempts, 0) >= coalesce(s.max_attempts, 3) THEN 'its attempts are used up'
                     ELSE 'its error was taken as final' END,
         'message', coalesce(left(s.results #>> '{error,message}', 300), 'no message'),
         'error_type', s.results #>> '{error,error_type}', 'failed', date_trunc('second', b.at)::text) AS evidence
  FROM (SELECT o.workflow_step_uuid, x.created_at AS at
          FROM open_steps o
          JOIN workflow_steps s ON s.workflow_step_uuid = o.workflow_step_uuid
          JOIN workflow_step_transitions x ON x.workflow_step_uuid = o.workflow_step_uuid AND x.most_recent
          LEFT JOIN task_transitions t ON t.task_uuid = s.task_uuid AND t.most_recent
         WHERE o.to_state = 'error'
           AND coalesce(t.to_state, 'pending') NOT IN ('complete', 'cancelled', 'resolved_manually')
           AND x.created_at < now() - make_interval(secs => ($2::jsonb ->> 'blocked')::float8)
         ORDER BY x.created_at, o.workflow_step_uuid
         LIMIT $3::int) AS b
  JOIN workflow_steps s ON s.workflow_step_uuid = b.workflow_step_uuid
 ORDER BY b.at, b.workflow_step_uuid
