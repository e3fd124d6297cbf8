\ir change_seen.sql
-- Begin of `moving`: the steps that go to the state `state` by the event `event`. The file continues with the condition.
, moving AS MATERIALIZED (
  SELECT s.workflow_step_uuid, s.task_uuid, x.to_state, :'state' AS becomes,
         '{"type":"' || :'event' || '"}' AS event
\ir steps_seen.sql
