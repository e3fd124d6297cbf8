-- Retry all failed steps of a task with new attempts, and move the task so that the engine finds it. A single remaining
-- failed step would keep the task blocked.
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
\ir ../parts/task_refusals.sql
                WHEN NOT EXISTS (
                  SELECT FROM :"schema".workflow_steps s
                    JOIN :"schema".workflow_step_transitions y ON y.workflow_step_uuid = s.workflow_step_uuid AND y.most_recent
                   WHERE s.task_uuid = t.task_uuid
                     AND (y.to_state = 'error' OR (y.to_state IN ('pending', 'waiting_for_retry') AND s.attempts > 0 AND (s.attempts >= coalesce(s.max_attempts, 3) OR NOT s.retryable))))
                THEN 'none of its steps has failed' END AS why
\ir ../parts/asked_tasks.sql
      ) AS r
 WHERE r.why IS NOT NULL

\ir ../parts/rows.sql

\ir ../parts/retry_steps.sql

\ir ../parts/wake_task.sql

\ir ../parts/changed.sql
