-- The tasks of the requested ids, locked, with their versions. Lock a task, then its current transition, in the
-- engine's order. Lock the task FOR NO KEY UPDATE: the engine holds a transition while its foreign key check locks the
-- task, so FOR UPDATE could deadlock. Nothing here waits: a row locked by another transaction makes the node locked.
-- Indexes: tasks_pkey, idx_task_transitions_task, the unique index on current task transitions, idx_dlq_task.
locked_tasks AS MATERIALIZED (
  WITH \ir involved.sql
, held_tasks AS MATERIALIZED (
    SELECT t.task_uuid, t.xmin::text AS row_version
      FROM :"schema".tasks t
     WHERE t.task_uuid = ANY (ARRAY(SELECT task_uuid FROM involved))
     ORDER BY t.task_uuid
       FOR NO KEY UPDATE SKIP LOCKED
  ),
  held_now AS MATERIALIZED (
    SELECT x.task_uuid, x.task_transition_uuid::text AS state
      FROM :"schema".task_transitions x
     WHERE x.task_uuid = ANY (ARRAY(SELECT task_uuid FROM held_tasks)) AND x.most_recent
     ORDER BY x.task_uuid
       FOR UPDATE SKIP LOCKED
  )
  SELECT h.task_uuid, coalesce(n.state, 'none') || ':' || h.row_version AS version
    FROM held_tasks h LEFT JOIN held_now n ON n.task_uuid = h.task_uuid
   WHERE n.state IS NOT NULL
      OR NOT EXISTS (SELECT FROM :"schema".task_transitions x WHERE x.task_uuid = h.task_uuid AND x.most_recent)
)
