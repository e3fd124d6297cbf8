-- title: Timeline
-- kinds: task step
-- drawn: timeline
-- The last 300 changes of the task and its steps, or of the step, with the time since the previous change of the same node
-- and what that wait was for. A cancelled task's row has a wrong previous state, so take it from the previous row.
-- Indexes: idx_task_transitions_sort_key, workflow_steps_pkey, idx_workflow_steps_task_covering,
-- idx_workflow_step_transitions_sort_key.
SELECT extract(epoch FROM w.at)::float8 AS at, w.what::text AS lane, w.to_state::text AS state,
       CASE w.to_state WHEN 'pending' THEN 'ready' WHEN 'waiting_for_retry' THEN 'scheduled' END AS phase,
       nullif(extract(epoch FROM w.at) - extract(epoch FROM w.before), 'NaN')::float8 AS waited,
       CASE WHEN w.was = 'enqueued' THEN 'for a worker' WHEN w.was = 'in_progress' THEN 'for the handler'
            WHEN w.was IN ('enqueued_for_orchestration', 'enqueued_as_error_for_orchestration', 'initializing', 'enqueuing_steps', 'evaluating_results')
                 THEN 'for the orchestrator'
            WHEN w.was = 'steps_in_process' THEN 'for its steps' WHEN w.was = 'waiting_for_dependencies' THEN 'for its steps'' parents'
            WHEN w.was = 'waiting_for_retry' THEN 'for its backoff' WHEN w.was = 'pending' THEN 'for the orchestrator'
            WHEN w.was IN ('error', 'blocked_by_failures') THEN 'for an operator' END AS waited_for,
       nullif(concat_ws(': ', coalesce(w.operator, w.who), left(w.note, 160)), '') AS note
  FROM (
    SELECT x.created_at AS at, lag(x.created_at) OVER p AS before, 'the task' AS what, lag(x.to_state) OVER p AS was, x.to_state, x.sort_key,
           coalesce(x.metadata ->> 'operator', x.transition_metadata ->> 'operator') AS operator,
           'orchestrator ' || x.processor_uuid AS who,
           coalesce(x.metadata ->> 'reason', x.transition_metadata ->> 'reason', x.metadata ->> 'event', x.transition_metadata ->> 'event') AS note
      FROM :"schema".task_transitions x
     WHERE :id LIKE 'task:%' AND x.task_uuid = substr(:id, 6)::uuid
    WINDOW p AS (ORDER BY x.sort_key)
    UNION ALL
    SELECT x.created_at, lag(x.created_at) OVER p, n.name, lag(x.to_state) OVER p, x.to_state, x.sort_key, x.metadata ->> 'operator',
           'worker ' || (x.metadata ->> 'worker_uuid'), coalesce(x.metadata ->> 'reason', substring(x.metadata ->> 'event' FROM '"type": ?"(\w+)"'))
      FROM :"schema".workflow_steps s
      JOIN :"schema".named_steps n ON n.named_step_uuid = s.named_step_uuid
      JOIN :"schema".workflow_step_transitions x ON x.workflow_step_uuid = s.workflow_step_uuid
     WHERE s.workflow_step_uuid = ANY (ARRAY(SELECT substr(:id, 6)::uuid WHERE :id LIKE 'step:%'
                                              UNION ALL
                                             SELECT o.workflow_step_uuid FROM :"schema".workflow_steps o WHERE :id LIKE 'task:%' AND o.task_uuid = substr(:id, 6)::uuid))
    WINDOW p AS (PARTITION BY x.workflow_step_uuid ORDER BY x.sort_key)) AS w
 ORDER BY w.at DESC, w.what, w.sort_key DESC
 LIMIT 300
