-- Tasks of `open_tasks` that the poller should have taken long ago: pending ones, and those of `waiting_tasks` that have a
-- ready step. Indexes: those of the included part.
late_tasks AS MATERIALIZED (
  WITH asked AS (SELECT w.task_uuid FROM waiting_tasks w),
\ir readiness.sql
  SELECT o.task_uuid, o.to_state, o.at AS since, NULL::int8 AS ready
    FROM open_tasks o WHERE o.to_state = 'pending' AND o.at < now() - :not_picked_up
  UNION ALL
  SELECT w.task_uuid, w.to_state, greatest(w.at, w.ready_at), w.ready
    FROM (SELECT w.*, r.failed, r.ready, r.ready_at
            FROM waiting_tasks w FULL JOIN readiness r ON r.task_uuid = w.task_uuid OFFSET 0) AS w
   WHERE w.failed = 0 AND w.ready > 0 AND w.ready_at < now() - :not_picked_up
)
