-- The requested nodes, locked, with their versions: the task, its current transition, its steps (the requested one, or
-- all open ones) and their current transitions, in the engine's order; and, unless a step was requested, the task's
-- pending dead letters. Lock steps FOR NO KEY UPDATE, as their tasks.
locked AS MATERIALIZED (
  WITH \ir involved.sql
, \ir locked_tasks.sql
  , concerned AS MATERIALIZED (
    SELECT i.id, s.workflow_step_uuid
      FROM involved i
      JOIN locked_tasks l ON l.task_uuid = i.task_uuid
      JOIN :"schema".workflow_steps s ON s.task_uuid = i.task_uuid
     WHERE CASE WHEN i.kind = 'step' THEN s.workflow_step_uuid = substr(i.id, 6)::uuid ELSE s.processed = false END
  ),
  held_steps AS MATERIALIZED (
    SELECT s.workflow_step_uuid, s.xmin::text AS row_version
      FROM :"schema".workflow_steps s
     WHERE s.workflow_step_uuid = ANY (ARRAY(SELECT workflow_step_uuid FROM concerned))
     ORDER BY s.workflow_step_uuid
       FOR NO KEY UPDATE SKIP LOCKED
  ),
  held_states AS MATERIALIZED (
    SELECT x.workflow_step_uuid, x.workflow_step_transition_uuid::text AS state
      FROM :"schema".workflow_step_transitions x
     WHERE x.workflow_step_uuid = ANY (ARRAY(SELECT workflow_step_uuid FROM held_steps)) AND x.most_recent
     ORDER BY x.workflow_step_uuid
       FOR UPDATE SKIP LOCKED
  ),
  locked_steps AS MATERIALIZED (
    SELECT h.workflow_step_uuid, coalesce(n.state, 'none') || ':' || h.row_version AS version
      FROM held_steps h LEFT JOIN held_states n ON n.workflow_step_uuid = h.workflow_step_uuid
     WHERE n.state IS NOT NULL
        OR NOT EXISTS (SELECT FROM :"schema".workflow_step_transitions x WHERE x.workflow_step_uuid = h.workflow_step_uuid AND x.most_recent)
  ),
  dead_letters AS MATERIALIZED (
    SELECT i.id, d.dlq_entry_uuid
      FROM involved i
      JOIN :"schema".tasks_dlq d ON d.task_uuid = i.task_uuid
     WHERE i.kind <> 'step'
       AND (d.resolution_status = 'pending' OR d.dlq_entry_uuid = CASE WHEN i.kind = 'dead_letter' THEN substr(i.id, 13)::uuid END)
  ),
  locked_dead_letters AS MATERIALIZED (
    SELECT d.dlq_entry_uuid, d.xmin::text AS version
      FROM :"schema".tasks_dlq d
     WHERE d.dlq_entry_uuid = ANY (ARRAY(SELECT dlq_entry_uuid FROM dead_letters))
     ORDER BY d.dlq_entry_uuid
       FOR UPDATE SKIP LOCKED
  )
  SELECT i.id, CASE i.kind WHEN 'task' THEN t.version WHEN 'step' THEN s.version ELSE d.version END AS version
    FROM involved i
    JOIN locked_tasks t ON t.task_uuid = i.task_uuid
    LEFT JOIN locked_steps s ON i.kind = 'step' AND s.workflow_step_uuid = CASE WHEN i.kind = 'step' THEN substr(i.id, 6)::uuid END
    LEFT JOIN locked_dead_letters d ON i.kind = 'dead_letter' AND d.dlq_entry_uuid = CASE WHEN i.kind = 'dead_letter' THEN substr(i.id, 13)::uuid END
   WHERE NOT EXISTS (SELECT FROM concerned c WHERE c.id = i.id
                      AND NOT EXISTS (SELECT FROM locked_steps l WHERE l.workflow_step_uuid = c.workflow_step_uuid))
     AND NOT EXISTS (SELECT FROM dead_letters d WHERE d.id = i.id
                      AND NOT EXISTS (SELECT FROM locked_dead_letters l WHERE l.dlq_entry_uuid = d.dlq_entry_uuid))
     AND CASE i.kind WHEN 'step' THEN s.version WHEN 'dead_letter' THEN d.version ELSE t.version END IS NOT NULL
)
