-- Retry a failed step, or all failed steps of a task, with new attempts, and move the task so that the engine finds it. A single
-- remaining failed step would keep the task blocked.

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

-- :refused
WITH \ir ../parts/asked_tasks.sql
SELECT a.id, r.why FROM asked_tasks a, LATERAL (SELECT coalesce(a.why,
  CASE WHEN NOT EXISTS (
         SELECT FROM :"schema".workflow_steps s
           JOIN :"schema".workflow_step_transitions y ON y.workflow_step_uuid = s.workflow_step_uuid AND y.most_recent
          WHERE s.task_uuid = a.task_uuid
            AND (y.to_state = 'error' OR y.to_state IN ('pending', 'waiting_for_retry')
                                         AND s.attempts > 0 AND (s.attempts >= coalesce(s.max_attempts, 3) OR NOT s.retryable)))
       THEN 'none of its steps has failed'
       ELSE 'its step ' || (
         SELECT min(s.workflow_step_uuid::text)
           FROM :"schema".workflow_steps s
           JOIN :"schema".workflow_step_transitions y ON y.workflow_step_uuid = s.workflow_step_uuid AND y.most_recent
           JOIN :"schema".workflow_steps o ON o.task_uuid = s.task_uuid AND o.named_step_uuid = s.named_step_uuid
           JOIN :"schema".workflow_step_transitions z ON z.workflow_step_uuid = o.workflow_step_uuid AND z.most_recent
          WHERE s.task_uuid = a.task_uuid AND y.to_state = 'error'
            AND o.workflow_step_uuid <> s.workflow_step_uuid AND z.to_state IN ('complete', 'resolved_manually'))
         || ' failed and has a copy that is done: a retry would repeat what that has done. Retry the other steps' END) AS why) r
 WHERE r.why IS NOT NULL

-- :change
WITH \ir ../parts/steps_seen.sql
, retrying AS MATERIALIZED (SELECT s.*, 'pending' AS becomes FROM steps_seen s WHERE s.node_state NOT IN ('complete', 'cancelled', 'resolved_manually')),
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
