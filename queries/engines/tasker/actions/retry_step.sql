-- A failed step is tried again with a new budget of attempts, and its task moved so that the engine finds it.
-- $1 ids text[]: local ids
-- $2 versions text[]: version of each node that the operator saw
-- $3 operator text: who
-- $4 reason text: why
-- $5 args jsonb: budget (fresh, one more), checkpoint (keep, clear)
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
                WHEN x.to_state <> 'error' AND NOT (x.to_state IN ('pending', 'waiting_for_retry') AND s.attempts > 0 AND (s.attempts >= coalesce(s.max_attempts, 3) OR NOT s.retryable) IS TRUE)
                THEN 'it is ' || x.to_state || ', not in error' END AS why
      FROM unnest($1::text[]) AS i
      JOIN :"schema".workflow_steps s ON s.workflow_step_uuid = substr(i, 6)::uuid
     CROSS JOIN LATERAL (
\ir ../parts/step_state.sql
     ) AS x
      LEFT JOIN :"schema".task_transitions y ON y.task_uuid = s.task_uuid AND y.most_recent) AS r
 WHERE r.why IS NOT NULL

\ir ../parts/rows.sql

\ir ../parts/retry_steps.sql

\ir ../parts/wake_task.sql

\ir ../parts/changed.sql
