-- The current state of the step `s`. A step made by a decision or a batch has no transition until it is enqueued, which
-- the engine reads as pending. NULL: there are transitions, and none is the current one.
SELECT coalesce((SELECT x.to_state FROM :"schema".workflow_step_transitions x
                  WHERE x.workflow_step_uuid = s.workflow_step_uuid AND x.most_recent),
                CASE WHEN NOT EXISTS (SELECT FROM :"schema".workflow_step_transitions x
                                       WHERE x.workflow_step_uuid = s.workflow_step_uuid) THEN 'pending' END) AS to_state
