-- Steps that count as being worked on and are not: flag and state are written by separate transactions of the engine.
-- $1 ids text[]: only for these local ids, or NULL
-- $2 limits jsonb
-- $3 page int: how many at most
-- Indexes: those of the included part.
WITH
\ir ../parts/open_steps.sql
SELECT 'step:' || s.workflow_step_uuid AS id, extract(epoch FROM x.created_at)::float8 AS since,
       jsonb_build_object('state', o.to_state, 'entered', date_trunc('second', x.created_at)::text) AS evidence
  FROM open_steps o
  JOIN workflow_steps s ON s.workflow_step_uuid = o.workflow_step_uuid
  JOIN workflow_step_transitions x ON x.workflow_step_uuid = s.workflow_step_uuid AND x.most_recent
 WHERE o.to_state IN ('pending', 'waiting_for_retry') AND s.in_process
   AND greatest(x.created_at, s.updated_at) < now() - make_interval(secs => ($2::jsonb ->> 'flag')::float8)
 ORDER BY x.created_at, s.workflow_step_uuid
 LIMIT $3::int
