-- A step counts as done without having run: what depends on it goes on and is given the results it has, which after a
-- failure are those of the failed attempt.
-- $1 ids text[]: local ids
-- $2 versions text[]: version of each node that the operator saw
-- $3 operator text: who
-- $4 reason text: why
-- $5 args jsonb: in_flight (also a step that is being worked on)
-- $6 limits jsonb
-- Indexes: tasks_pkey, workflow_steps_pkey, idx_workflow_steps_task_covering, the unique ones on current transitions, idx_dlq_task.

\ir ../parts/lock.sql

-- :refused
SELECT r.id, r.why
  FROM (
    SELECT i AS id,
           CASE WHEN x.to_state IS NULL THEN 'none of its transitions is the current one: mend that by hand first'
                WHEN y.to_state IS NULL THEN 'none of its task''s transitions is the current one: mend that by hand first'
                WHEN y.to_state IN ('complete', 'cancelled', 'resolved_manually') THEN 'its task is ' || y.to_state || ': nothing of it runs any more'
                WHEN x.to_state IN ('complete', 'resolved_manually') THEN 'it is ' || x.to_state || ' already'
                WHEN x.to_state = 'cancelled' AND NOT EXISTS (SELECT FROM :"schema".workflow_step_edges e WHERE e.from_step_uuid = s.workflow_step_uuid)
                THEN 'it is cancelled, and nothing waits for it'
                WHEN x.to_state IN ('enqueued', 'in_progress', 'enqueued_for_orchestration', 'enqueued_as_error_for_orchestration')
                     AND coalesce($5::jsonb ->> 'in_flight', 'false') <> 'true'
                THEN 'it is ' || x.to_state || ': its handler may be running, and its result would be lost. Say so (in_flight) to skip it all the same' END AS why
      FROM unnest($1::text[]) AS i
      JOIN :"schema".workflow_steps s ON s.workflow_step_uuid = substr(i, 6)::uuid
     CROSS JOIN LATERAL (
\ir ../parts/step_state.sql
     ) AS x
      LEFT JOIN :"schema".task_transitions y ON y.task_uuid = s.task_uuid AND y.most_recent) AS r
 WHERE r.why IS NOT NULL

\ir ../parts/rows.sql

-- :change
WITH
\ir ../parts/seen.sql
, moving AS MATERIALIZED (
  SELECT s.workflow_step_uuid, s.task_uuid, x.to_state, 'resolved_manually' AS becomes,
         '{"type":"ResolveManually"}' AS event
    FROM seen n
    JOIN :"schema".workflow_steps s ON s.task_uuid = n.task_uuid AND (n.step IS NULL OR s.workflow_step_uuid = n.step)
   CROSS JOIN LATERAL (
\ir ../parts/step_state.sql
         ) AS x
   WHERE x.to_state NOT IN ('complete', 'resolved_manually')
)
\ir ../parts/step_transitions.sql

-- :change
WITH
\ir ../parts/involved.sql
UPDATE :"schema".workflow_steps s
   SET processed = true, in_process = false, processed_at = now(),
       updated_at = now()
  FROM involved i, :"schema".workflow_step_transitions x
 WHERE s.task_uuid = i.task_uuid AND (i.kind <> 'step' OR s.workflow_step_uuid = CASE WHEN i.kind = 'step' THEN substr(i.id, 6)::uuid END)
   AND x.workflow_step_uuid = s.workflow_step_uuid AND x.most_recent AND x.to_state = 'resolved_manually' AND x.created_at = localtimestamp

\ir ../parts/wake_task.sql

\ir ../parts/changed.sql
