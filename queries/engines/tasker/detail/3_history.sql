-- title: Timeline
-- kinds: step
-- drawn: timeline
-- $1 id text: local id
-- The last 200 changes of the step, with what each wait was for: the queue, the handler, or the orchestrator.
-- Index: idx_workflow_step_transitions_sort_key.
SELECT extract(epoch FROM w.at)::float8 AS at, w.name::text AS lane, w.to_state::text AS state,
\ir ../parts/phase.sql
       extract(epoch FROM w.at - w.before)::float8 AS waited,
\ir ../parts/waited_for.sql
       nullif(concat_ws(': ', coalesce(w.metadata ->> 'operator', 'worker ' || (w.metadata ->> 'worker_uuid')),
                        left(coalesce(w.metadata ->> 'reason', substring(w.metadata ->> 'event' FROM '"type": ?"(\w+)"')), 160)), '') AS note
  FROM (SELECT x.created_at AS at, lag(x.created_at) OVER p AS before, lag(x.to_state) OVER p AS was, x.to_state, x.sort_key, x.metadata, n.name
          FROM :"schema".workflow_steps s
          JOIN :"schema".named_steps n ON n.named_step_uuid = s.named_step_uuid
          JOIN :"schema".workflow_step_transitions x ON x.workflow_step_uuid = s.workflow_step_uuid
         WHERE s.workflow_step_uuid = substr($1::text, 6)::uuid
        WINDOW p AS (ORDER BY x.sort_key)) AS w
 ORDER BY w.sort_key DESC
 LIMIT 200
