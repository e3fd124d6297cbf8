-- Mark a step as resolved manually without running it. Steps that depend on it continue and get its current results:
-- after a failure, those of the failed attempt.

\ir ../parts/step_refusals.sql
                WHEN x.to_state IN ('complete', 'resolved_manually') THEN 'it is already ' || x.to_state
                WHEN x.to_state = 'cancelled' AND NOT EXISTS (SELECT FROM :"schema".workflow_step_edges e WHERE e.from_step_uuid = s.workflow_step_uuid)
                THEN 'it is cancelled and no step depends on it'
                WHEN x.to_state IN ('enqueued', 'in_progress', 'enqueued_for_orchestration', 'enqueued_as_error_for_orchestration')
                     AND coalesce(:args ->> 'in_flight', 'false') <> 'true'
                THEN 'it is ' || x.to_state || '. Its handler may be running, and the handler''s result would be lost. Set in_flight to skip it anyway' END AS why
\ir ../parts/refused_steps.sql

\set state resolved_manually
\set event ResolveManually
\ir ../parts/change_moving.sql
   WHERE x.to_state NOT IN ('complete', 'resolved_manually')
\ir ../parts/steps_ended.sql

\ir ../parts/continue_task.sql
