-- A claim whose worker is gone: the step may be tried again. Nothing fences the worker off; if it lives, its late result is
-- rejected, unless somebody has claimed the step again by then: it would pass for that attempt's.
-- $1 ids text[]: local ids
-- $2 versions text[]: version of each node that the operator saw
-- $3 operator text: who
-- $4 reason text: why
-- $5 args jsonb: again (also a step that is marked as not retryable)
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
                WHEN x.to_state <> 'in_progress' THEN 'it is ' || x.to_state || ': nobody holds it'
                WHEN NOT s.retryable AND coalesce($5::jsonb ->> 'again', 'false') <> 'true'
                THEN 'it is marked as not retryable. Say so (again) to have it run once more all the same' END AS why
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
  SELECT s.workflow_step_uuid, s.task_uuid, x.to_state, 'waiting_for_retry' AS becomes,
         '{"type":"WaitForRetry"}' AS event
    FROM seen n
    JOIN :"schema".workflow_steps s ON s.task_uuid = n.task_uuid AND (n.step IS NULL OR s.workflow_step_uuid = n.step)
   CROSS JOIN LATERAL (
\ir ../parts/step_state.sql
         ) AS x
   WHERE x.to_state = 'in_progress'
)
\ir ../parts/step_transitions.sql

-- :change
WITH
\ir ../parts/involved.sql
UPDATE :"schema".workflow_steps s
   SET in_process = false, backoff_request_seconds = 0, last_attempted_at = least(coalesce(s.last_attempted_at, localtimestamp), localtimestamp),
       max_attempts = greatest(coalesce(s.max_attempts, 3), coalesce(s.attempts, 0) + 1),
       retryable = true,
       updated_at = now()
  FROM involved i, :"schema".workflow_step_transitions x
 WHERE s.task_uuid = i.task_uuid AND (i.kind <> 'step' OR s.workflow_step_uuid = CASE WHEN i.kind = 'step' THEN substr(i.id, 6)::uuid END)
   AND x.workflow_step_uuid = s.workflow_step_uuid AND x.most_recent AND x.to_state = 'waiting_for_retry' AND x.created_at = localtimestamp

\ir ../parts/wake_task.sql

\ir ../parts/changed.sql
