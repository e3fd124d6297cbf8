-- A copy of the step `s` that is done. There is none while the tables have the engine's unique rule on task and name.
               (SELECT min(o.workflow_step_uuid::text) FROM :"schema".workflow_steps o
                  JOIN :"schema".workflow_step_transitions z ON z.workflow_step_uuid = o.workflow_step_uuid AND z.most_recent AND z.to_state IN ('complete', 'resolved_manually')
                 WHERE o.task_uuid = s.task_uuid AND o.named_step_uuid = s.named_step_uuid AND o.workflow_step_uuid <> s.workflow_step_uuid)
