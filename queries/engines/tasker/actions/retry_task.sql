-- All failed steps of a task are tried again with new budgets, and the task moved so that the engine finds it. One failed
-- step that is left would keep the task blocked.
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
                WHEN x.to_state IN ('complete', 'cancelled', 'resolved_manually') THEN 'it is ' || x.to_state || ': it has ended'
                WHEN NOT EXISTS (
                  SELECT FROM :"schema".workflow_steps s
                    JOIN :"schema".workflow_step_transitions y ON y.workflow_step_uuid = s.workflow_step_uuid AND y.most_recent
                   WHERE s.task_uuid = t.task_uuid
                     AND (y.to_state = 'error' OR (y.to_state IN ('pending', 'waiting_for_retry') AND s.attempts > 0 AND (s.attempts >= coalesce(s.max_attempts, 3) OR NOT s.retryable))))
                THEN 'none of its steps has failed' END AS why
      FROM unnest($1::text[]) AS i
      JOIN :"schema".tasks t ON t.task_uuid = substr(i, 6)::uuid
      LEFT JOIN :"schema".task_transitions x ON x.task_uuid = t.task_uuid AND x.most_recent) AS r
 WHERE r.why IS NOT NULL

\ir ../parts/rows.sql

\ir ../parts/retry_steps.sql

\ir ../parts/wake_task.sql

\ir ../parts/changed.sql
