-- Mark a step as resolved manually without running it. Steps that depend on it continue and get its current results:
-- after a failure, those of the failed attempt.

-- :refused
WITH \ir ../parts/asked_steps.sql
SELECT a.id, r.why FROM asked_steps a, LATERAL (SELECT coalesce(a.why,
  CASE WHEN a.to_state IN ('complete', 'resolved_manually') THEN 'it is already ' || a.to_state
       WHEN a.to_state = 'cancelled' AND NOT EXISTS (SELECT FROM :"schema".workflow_step_edges e WHERE e.from_step_uuid = a.workflow_step_uuid)
       THEN 'it is cancelled and no step depends on it'
       WHEN a.to_state IN ('enqueued', 'in_progress', 'enqueued_for_orchestration', 'enqueued_as_error_for_orchestration')
            AND coalesce(:args ->> 'in_flight', 'false') <> 'true'
       THEN 'it is ' || a.to_state || '. Its handler may be running, and the handler''s result would be lost. Set in_flight to skip it anyway' END) AS why) r
 WHERE r.why IS NOT NULL

-- :change
WITH \ir ../parts/steps_seen.sql
, moving AS MATERIALIZED (
  SELECT s.*, 'resolved_manually' AS becomes, '{"type":"ResolveManually"}' AS event
    FROM steps_seen s WHERE s.to_state NOT IN ('complete', 'resolved_manually')
),
\ir ../parts/left_behind.sql
, \ir ../parts/moved.sql
UPDATE :"schema".workflow_steps s
   SET processed = true, in_process = false, processed_at = now(), updated_at = now()
  FROM moved m
 WHERE s.workflow_step_uuid = m.workflow_step_uuid

-- :change
WITH \ir ../parts/changed.sql
, \ir ../parts/continued.sql
SELECT c.moved FROM continued c

-- :change
WITH \ir ../parts/finished.sql
, \ir ../parts/changed.sql
SELECT c.id FROM changed c
