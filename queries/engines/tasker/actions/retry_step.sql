-- Retry a failed step with new attempts, and move its task so that the engine finds it.
-- $1 ids text[]: local ids
-- $2 versions text[]: version of each node that the operator saw
-- $3 operator text
-- $4 reason text
-- $5 args jsonb: budget (fresh, one more), checkpoint (keep, clear)
-- $6 settings jsonb
-- Indexes: tasks_pkey, workflow_steps_pkey, idx_workflow_steps_task_covering, idx_dlq_task, the unique indexes on current
-- transitions.

\ir ../parts/lock.sql

-- :refused
SELECT r.id, r.why
  FROM (
    SELECT i AS id,
           CASE
\ir ../parts/step_refusals.sql
                WHEN x.to_state <> 'error' AND NOT (x.to_state IN ('pending', 'waiting_for_retry') AND s.attempts > 0 AND (s.attempts >= coalesce(s.max_attempts, 3) OR NOT s.retryable) IS TRUE)
                THEN 'it is ' || x.to_state || ', not in error' END AS why
\ir ../parts/asked_steps.sql
      ) AS r
 WHERE r.why IS NOT NULL

\ir ../parts/rows.sql

\ir ../parts/retry_steps.sql

\ir ../parts/wake_task.sql

\ir ../parts/changed.sql
