-- End of a part with `waiting(task_uuid, to_state, at)`, the oldest 200 of these tasks: their steps, as the engine counts them.
, asked AS (SELECT w.task_uuid FROM waiting w),
\ir readiness.sql
, nodes AS (
  SELECT 'task:' || w.task_uuid AS id, w.*, k.total, k.done, k.failed, k.ready FROM waiting w JOIN summed k ON k.task_uuid = w.task_uuid
),
unread AS (SELECT NULL::text AS unread WHERE (SELECT count(*) FROM waiting) = 200)
