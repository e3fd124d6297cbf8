-- Steps in error of the tasks in `asked(task_uuid)`, with their error messages.
-- Indexes: idx_workflow_steps_task_covering and idx_workflow_step_transitions_state_lookup, index-only, workflow_steps_pkey.
failed_steps AS MATERIALIZED (
  SELECT s.task_uuid, s.workflow_step_uuid, n.name, s.results #>> '{error,message}' AS message
    FROM :"schema".workflow_steps s JOIN :"schema".named_steps n ON n.named_step_uuid = s.named_step_uuid
   WHERE s.workflow_step_uuid = ANY (ARRAY(
           SELECT x.workflow_step_uuid FROM :"schema".workflow_step_transitions x
            WHERE x.most_recent AND x.to_state = 'error'
              AND x.workflow_step_uuid = ANY (ARRAY(
                    SELECT o.workflow_step_uuid FROM :"schema".workflow_steps o WHERE o.task_uuid = ANY (ARRAY(SELECT a.task_uuid FROM asked a))))))
)
