-- Take a task out of error: give its failed steps new attempts, resolve its dead letter if it has one, and move it to a
-- state that the poller finds. The engine's code has no transition out of error, but does not check for one.

-- :refused
WITH asked AS MATERIALIZED (
  SELECT i AS id, CASE WHEN i LIKE 'dead_letter:%' THEN substr(i, 13)::uuid END AS dead,
         CASE WHEN i LIKE 'task:%' THEN substr(i, 6)::uuid END AS task FROM unnest(:ids) AS i
),
dead AS MATERIALIZED (
  SELECT d.dlq_entry_uuid, d.task_uuid, d.resolution_status FROM :"schema".tasks_dlq d
   WHERE d.dlq_entry_uuid = ANY (ARRAY(SELECT a.dead FROM asked a))
),
states AS MATERIALIZED (
  SELECT x.task_uuid, x.to_state FROM :"schema".task_transitions x
   WHERE x.most_recent AND x.task_uuid = ANY (ARRAY(SELECT task FROM asked UNION ALL SELECT task_uuid FROM dead))
)
SELECT a.id, r.why FROM asked a
  LEFT JOIN dead d ON d.dlq_entry_uuid = a.dead
  LEFT JOIN states x ON x.task_uuid = coalesce(d.task_uuid, a.task)
 CROSS JOIN LATERAL (SELECT
  CASE WHEN d.resolution_status <> 'pending' THEN 'this dead letter is already resolved as ' || d.resolution_status
       WHEN x.to_state IS NULL THEN 'no transition of the task is marked as current. Repair that in the database first'
       WHEN x.to_state = 'blocked_by_failures' THEN 'the task is blocked by failures, not in error. Retry it'
       WHEN x.to_state <> 'error' THEN 'the task is ' || x.to_state || ', not in error'
       WHEN NOT EXISTS (SELECT FROM :"schema".workflow_steps s WHERE s.task_uuid = x.task_uuid) THEN 'the task has no steps to continue'
       WHEN 'task:' || d.task_uuid = ANY (:ids) THEN 'its task is selected too, and is revived with it' END AS why) r
 WHERE r.why IS NOT NULL

-- :change
WITH \ir ../parts/steps_seen.sql
, retrying AS MATERIALIZED (SELECT s.*, 'pending' AS becomes FROM steps_seen s WHERE s.node_state = 'error'),
moving AS MATERIALIZED (SELECT r.*, '{"type":"ResetForRetry"}' AS event FROM retrying r WHERE r.to_state = 'error'),
\ir ../parts/left_behind.sql
, \ir ../parts/moved.sql
, \ir ../parts/retried.sql
SELECT r.workflow_step_uuid FROM retried r

-- :change
-- Resolve its pending dead letter. Existing metadata is kept and extended.
WITH \ir ../parts/seen.sql
UPDATE :"schema".tasks_dlq d
   SET resolution_status = 'manually_resolved', resolution_timestamp = now(),
       resolution_notes = coalesce(nullif(:args ->> 'note', ''), :reason),
       resolved_by = left(coalesce(nullif(:args ->> 'name', ''), :operator), 255),
       metadata = coalesce(d.metadata, '{}') || jsonb_build_object('unstick', jsonb_build_object(
         'action', 'revive', 'operator', :operator, 'reason', :reason, 'action_id', pg_current_xact_id()::text)),
       updated_at = now()
  FROM seen n
 WHERE n.state = 'error' AND d.task_uuid = n.task_uuid AND d.resolution_status = 'pending'

-- :change
-- Move a task also if none of its steps had failed.
WITH \ir ../parts/seen.sql
, changed AS MATERIALIZED (
  SELECT n.task_uuid FROM seen n WHERE n.state = 'error'
  UNION (
  WITH \ir ../parts/changed.sql
  SELECT c.task_uuid FROM changed c)
),
\ir ../parts/continued.sql
SELECT c.moved FROM continued c

-- :change
WITH \ir ../parts/finished.sql
, \ir ../parts/changed.sql
SELECT c.id FROM changed c
