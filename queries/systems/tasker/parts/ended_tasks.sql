-- Of the tasks of `open_steps` those that have ended.
ended_tasks AS MATERIALIZED (
  SELECT x.task_uuid
    FROM (SELECT x.task_uuid, x.to_state FROM :"schema".task_transitions x
           WHERE x.most_recent AND x.task_uuid = ANY (ARRAY(SELECT s.task_uuid FROM open_steps s)) OFFSET 0) AS x
   WHERE x.to_state IN ('complete', 'cancelled', 'resolved_manually')
)
