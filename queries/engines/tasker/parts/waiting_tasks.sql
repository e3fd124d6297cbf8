-- At most 500 tasks of `open_tasks` that have waited long for their steps, and that the poller still finds.
waiting_tasks AS MATERIALIZED (
  SELECT o.task_uuid, o.to_state, o.at
    FROM open_tasks o
   WHERE o.to_state <> 'pending' AND o.at < now() - :not_picked_up
     AND o.at >= now() - CASE o.to_state WHEN 'waiting_for_retry' THEN interval '30 min' ELSE interval '60 min' END
   ORDER BY o.at, o.task_uuid LIMIT 500
)
