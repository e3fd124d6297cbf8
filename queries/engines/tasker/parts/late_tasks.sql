-- Tasks that the poller should have taken long ago: pending ones, and waiting ones with a ready step. `picked` has the
-- tasks that orchestrators picked up just now, among the newest 1,000 transitions.
-- Indexes: those of the included parts; at most 500 waiting tasks; task_transitions_pkey backwards if a task is late.
wanted AS (SELECT unnest(ARRAY['pending', 'waiting_for_dependencies', 'waiting_for_retry']) AS to_state),
\ir open_tasks.sql
, seen AS MATERIALIZED (
  SELECT o.task_uuid, o.to_state, o.at
    FROM open_tasks o
   WHERE o.at < now() - :not_picked_up
     AND o.at >= CASE o.to_state WHEN 'waiting_for_retry' THEN now() - interval '30 minutes'
                                 WHEN 'waiting_for_dependencies' THEN now() - interval '60 minutes' ELSE '-infinity' END
),
waiting AS MATERIALIZED (SELECT s.* FROM seen s WHERE s.to_state <> 'pending' ORDER BY s.at, s.task_uuid LIMIT 500),
asked AS (SELECT w.task_uuid FROM waiting w),
\ir readiness.sql
, late AS MATERIALIZED (
  SELECT s.task_uuid, s.to_state, s.at AS since, NULL::int8 AS ready FROM seen s WHERE s.to_state = 'pending'
  UNION ALL
  SELECT w.task_uuid, w.to_state, greatest(w.at, w.ready_at), w.ready
    FROM (SELECT w.*, k.failed, k.ready, k.ready_at FROM waiting w FULL JOIN summed k ON k.task_uuid = w.task_uuid OFFSET 0) AS w
   WHERE w.failed = 0 AND w.ready > 0 AND w.ready_at < now() - :not_picked_up
),
picked AS MATERIALIZED (
  SELECT x.task_uuid
    FROM (SELECT x.task_uuid, x.to_state, x.created_at FROM :"schema".task_transitions x
           WHERE EXISTS (SELECT FROM late) ORDER BY x.task_transition_uuid DESC LIMIT 1000) AS x
   WHERE x.to_state IN ('initializing', 'enqueuing_steps')
     AND x.created_at > now() - :picked_up
)
