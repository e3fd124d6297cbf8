-- Retry a failed step with new attempts, and move its task so that the engine finds it.

-- :refused
-- There is no copy of a step while the tables have the engine's unique rule on task and name.
WITH \ir ../parts/asked_steps.sql
SELECT a.id, r.why FROM asked_steps a, LATERAL (SELECT coalesce(a.why,
  CASE WHEN a.to_state <> 'error' AND NOT (a.to_state IN ('pending', 'waiting_for_retry') AND a.attempts > 0 AND (a.attempts >= coalesce(a.max_attempts, 3) OR NOT a.retryable) IS TRUE)
       THEN 'it is ' || a.to_state || ', not in error'
       ELSE 'the step ' || (
         SELECT min(o.workflow_step_uuid::text) FROM :"schema".workflow_steps o
           JOIN :"schema".workflow_step_transitions z ON z.workflow_step_uuid = o.workflow_step_uuid AND z.most_recent
          WHERE (o.task_uuid, o.named_step_uuid) = (a.task_uuid, a.named_step_uuid) AND o.workflow_step_uuid <> a.workflow_step_uuid
            AND z.to_state IN ('complete', 'resolved_manually')) || ' is a copy of it and is done: a retry would repeat what that has done' END) AS why) r
 WHERE r.why IS NOT NULL

-- :change
WITH \ir ../parts/steps_seen.sql
, retrying AS MATERIALIZED (SELECT s.*, 'pending' AS becomes FROM steps_seen s),
moving AS MATERIALIZED (SELECT r.*, '{"type":"ResetForRetry"}' AS event FROM retrying r WHERE r.to_state = 'error'),
\ir ../parts/left_behind.sql
, \ir ../parts/moved.sql
, \ir ../parts/retried.sql
SELECT r.workflow_step_uuid FROM retried r

-- :change
WITH \ir ../parts/changed.sql
, \ir ../parts/continued.sql
SELECT c.moved FROM continued c

-- :change
WITH \ir ../parts/finished.sql
, \ir ../parts/changed.sql
SELECT c.id FROM changed c
