-- Tasks that are past the place where they failed: all of their steps that have ever been in error are done now.
-- Indexes: idx_workflow_steps_task_uuid; the unique one on current transitions, and the one on
-- workflow_step_transitions(workflow_step_uuid, sort_key).
WITH failed AS MATERIALIZED (
  SELECT s.task_uuid, s.workflow_step_uuid
    FROM :"schema".workflow_steps s
   WHERE s.task_uuid = ANY (:task_keys)
     AND EXISTS (SELECT FROM :"schema".workflow_step_transitions e WHERE e.workflow_step_uuid = s.workflow_step_uuid AND e.to_state = 'error')
)
SELECT 'task:' || f.task_uuid AS id
  FROM failed f
  JOIN :"schema".workflow_step_transitions x ON x.workflow_step_uuid = f.workflow_step_uuid AND x.most_recent
 GROUP BY f.task_uuid
HAVING bool_and(x.to_state IN ('complete', 'resolved_manually'))
