-- Tasks of `open_steps` that have ended, or on which an operator has decided.
ended_tasks AS MATERIALIZED (
  WITH their_states AS MATERIALIZED (
    SELECT x.task_uuid, x.to_state FROM :"schema".task_transitions x
     WHERE x.most_recent AND x.task_uuid = ANY (ARRAY(SELECT s.task_uuid FROM open_steps s))
  ),
  given_up AS MATERIALIZED (
    SELECT x.task_uuid, x.created_at,
           x.to_state = 'error' AND x.transition_metadata ->> 'operator' IS NOT NULL AS by_hand
      FROM :"schema".task_transitions x
     WHERE x.most_recent
       AND x.task_uuid = ANY (ARRAY(
             SELECT t.task_uuid FROM their_states t WHERE t.to_state IN ('error', 'blocked_by_failures')))
  ),
\ir decided_tasks.sql
  SELECT t.task_uuid FROM their_states t WHERE t.to_state IN ('complete', 'cancelled', 'resolved_manually')
  UNION ALL
  SELECT d.task_uuid FROM decided_tasks d
)
