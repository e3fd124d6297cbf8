-- Find tasks and steps whose time of entry, or a running step whose last sign of life, is ahead of the server's clock.
-- Rules that compare ages do not apply to them until then. Times are stored without a time zone: a session that does
-- not use UTC shifts them.
-- Not derived: only tasks and signs of life name their task, and evidence without it is not NULL but absent.
-- Indexes: those of the included part and of open steps, the state_lookups, index-only; or those led by the state.
WITH \ir ../parts/newest_tasks.sql
, task_states AS (SELECT unnest(ARRAY['pending', 'initializing', 'enqueuing_steps', 'steps_in_process', 'evaluating_results',
                                    'waiting_for_dependencies', 'waiting_for_retry']) AS to_state),
step_states AS (SELECT unnest(ARRAY['pending', 'enqueued', 'in_progress', 'enqueued_for_orchestration',
                                    'enqueued_as_error_for_orchestration', 'waiting_for_retry']) AS to_state),
limits AS MATERIALIZED (SELECT now()::timestamp + :ahead AS clock),
task_keys AS MATERIALIZED (
  SELECT x.task_uuid FROM :"schema".task_transitions x
   WHERE x.most_recent AND x.to_state IN (SELECT w.to_state FROM task_states w)
     AND x.task_uuid = ANY (ARRAY(SELECT n.task_uuid FROM newest_tasks n WHERE :ids IS NULL AND NOT 'task_by_state' = ANY (:met_needs)
                                  UNION ALL
                                  SELECT substr(i, 6)::uuid FROM unnest(:ids) AS i WHERE i LIKE 'task:%'))
),
open_keys AS MATERIALIZED (
  (SELECT s.workflow_step_uuid FROM :"schema".workflow_steps s
    WHERE s.processed = false AND :ids IS NULL AND NOT 'step_by_state' = ANY (:met_needs) ORDER BY s.workflow_step_uuid DESC LIMIT 5000)
  UNION ALL
  SELECT substr(i, 6)::uuid FROM unnest(:ids) AS i WHERE i LIKE 'step:%'
),
step_keys AS MATERIALIZED (
  SELECT x.workflow_step_uuid, x.to_state FROM :"schema".workflow_step_transitions x
   WHERE x.most_recent AND x.to_state IN (SELECT w.to_state FROM step_states w)
     AND x.workflow_step_uuid = ANY (ARRAY(SELECT o.workflow_step_uuid FROM open_keys o))
),
running AS MATERIALIZED (
  SELECT k.workflow_step_uuid FROM step_keys k WHERE k.to_state = 'in_progress'
  UNION ALL
  (SELECT x.workflow_step_uuid FROM :"schema".workflow_step_transitions x
    WHERE x.to_state = 'in_progress' AND x.most_recent AND :ids IS NULL AND 'step_by_state' = ANY (:met_needs)
    ORDER BY x.created_at DESC LIMIT 1000)
),
ahead AS (
  SELECT 'task:' || x.task_uuid AS id, x.task_uuid, 'its entry into ' || x.to_state AS what, x.created_at AS at
    FROM :"schema".task_transitions x
   WHERE x.most_recent AND x.task_uuid = ANY (ARRAY(SELECT k.task_uuid FROM task_keys k)) AND x.created_at > (SELECT l.clock FROM limits l)
  UNION ALL
  SELECT 'task:' || x.task_uuid, x.task_uuid, 'its entry into ' || x.to_state, x.created_at
    FROM task_states w
   CROSS JOIN LATERAL (SELECT x.task_uuid, x.to_state, x.created_at FROM :"schema".task_transitions x
                        WHERE x.to_state = w.to_state AND x.most_recent AND x.created_at > (SELECT l.clock FROM limits l)
                          AND :ids IS NULL AND 'task_by_state' = ANY (:met_needs)
                        ORDER BY x.created_at DESC LIMIT 200) AS x
  UNION ALL
  SELECT 'step:' || x.workflow_step_uuid, NULL, 'its entry into ' || x.to_state, x.created_at
    FROM :"schema".workflow_step_transitions x
   WHERE x.most_recent AND x.workflow_step_uuid = ANY (ARRAY(SELECT k.workflow_step_uuid FROM step_keys k)) AND x.created_at > (SELECT l.clock FROM limits l)
  UNION ALL
  SELECT 'step:' || x.workflow_step_uuid, NULL, 'its entry into ' || x.to_state, x.created_at
    FROM step_states w
   CROSS JOIN LATERAL (SELECT x.workflow_step_uuid, x.to_state, x.created_at FROM :"schema".workflow_step_transitions x
                        WHERE x.to_state = w.to_state AND x.most_recent AND x.created_at > (SELECT l.clock FROM limits l)
                          AND :ids IS NULL AND 'step_by_state' = ANY (:met_needs)
                        ORDER BY x.created_at DESC LIMIT 200) AS x
  UNION ALL
  SELECT 'step:' || s.workflow_step_uuid, s.task_uuid, 'its last sign of life', s.updated_at
    FROM :"schema".workflow_steps s
   WHERE s.workflow_step_uuid = ANY (ARRAY(SELECT r.workflow_step_uuid FROM running r)) AND s.updated_at > (SELECT l.clock FROM limits l)
),
first AS (SELECT DISTINCT ON (a.id) a.* FROM ahead a ORDER BY a.id, a.at DESC)
(SELECT f.id, extract(epoch FROM now())::float8 AS since,
        jsonb_strip_nulls(jsonb_build_object('what', f.what, 'time', CASE WHEN isfinite(f.at) THEN date_trunc('second', f.at)::text ELSE 'infinity' END,
          'ahead', CASE WHEN isfinite(f.at) THEN date_trunc('second', f.at - now()::timestamp)::text ELSE 'ever' END, 'task', f.task_uuid)) AS evidence
   FROM first f
  ORDER BY f.at DESC, f.id
  LIMIT :limit)
UNION ALL
SELECT NULL, NULL, NULL
 WHERE :ids IS NULL AND (NOT 'task_by_state' = ANY (:met_needs) AND EXISTS (SELECT FROM newest_tasks n WHERE n.older)
                               OR (SELECT count(*) FROM open_keys) = 5000 OR (SELECT count(*) FROM running) = 1000)
