-- Current state of the step `s`. A step created by a decision or a batch has no transition until it is enqueued; the engine
-- treats it as pending. NULL: the step has transitions, but none is marked as current. Without OFFSET the state is read again
-- for each condition on it.
SELECT coalesce((SELECT x.to_state FROM :"schema".workflow_step_transitions x
                  WHERE x.workflow_step_uuid = s.workflow_step_uuid AND x.most_recent),
                CASE WHEN NOT EXISTS (SELECT FROM :"schema".workflow_step_transitions x
                                       WHERE x.workflow_step_uuid = s.workflow_step_uuid) THEN 'pending' END) AS to_state
OFFSET 0
