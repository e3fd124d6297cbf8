-- Retry all failed steps of a task with new attempts, and move the task so that the engine finds it. A single remaining
-- failed step would keep the task blocked.

\ir ../parts/task_refusals.sql
                WHEN NOT EXISTS (
                  SELECT FROM :"schema".workflow_steps s
                    JOIN :"schema".workflow_step_transitions y ON y.workflow_step_uuid = s.workflow_step_uuid AND y.most_recent
                   WHERE s.task_uuid = t.task_uuid
                     AND (y.to_state = 'error' OR (y.to_state IN ('pending', 'waiting_for_retry') AND s.attempts > 0 AND (s.attempts >= coalesce(s.max_attempts, 3) OR NOT s.retryable))))
                THEN 'none of its steps has failed'
                ELSE (SELECT 'its step ' || min(s.workflow_step_uuid::text) || ' failed and has a copy that is done: a retry would repeat what that has done. Retry the other steps'
                        FROM :"schema".workflow_steps s
                        JOIN :"schema".workflow_step_transitions y ON y.workflow_step_uuid = s.workflow_step_uuid AND y.most_recent AND y.to_state = 'error'
                       WHERE s.task_uuid = t.task_uuid AND
\ir ../parts/twin.sql
                             IS NOT NULL) END AS why
\ir ../parts/refused_tasks.sql

\ir ../parts/retry_steps.sql

\ir ../parts/continue_task.sql
