-- Unprocessed steps in the states of `wanted(to_state)`: the requested ones; else, if an index starts with the state,
-- the 1,000 oldest in each state, and the newest in error; else those among the newest 5,000, where failed steps stay
-- permanently. A row without a step marks a truncated search. The reader checks whether the tasks have ended.
-- Indexes: idx_workflow_steps_active_operations backwards and the state_lookup, index-only, or one on
-- workflow_step_transitions(to_state, created_at). parts/open_tasks.sql explains the look-ups and joins.
open_steps AS MATERIALIZED (
  WITH candidates AS MATERIALIZED (
    (SELECT s.workflow_step_uuid FROM :"schema".workflow_steps s
      WHERE s.processed = false AND :ids IS NULL AND NOT 'step_by_state' = ANY (:met_needs)
      ORDER BY s.workflow_step_uuid DESC LIMIT 5000)
    UNION ALL
    SELECT s.workflow_step_uuid FROM :"schema".workflow_steps s
     WHERE s.processed = false AND s.workflow_step_uuid = ANY (:step_keys)
  ),
  step_states AS MATERIALIZED (
    SELECT x.workflow_step_uuid, x.to_state FROM :"schema".workflow_step_transitions x
     WHERE x.most_recent AND x.workflow_step_uuid = ANY (ARRAY(SELECT c.workflow_step_uuid FROM candidates c))
  ),
  in_state AS MATERIALIZED (
    SELECT x.workflow_step_uuid, x.to_state FROM step_states x WHERE x.to_state IN (SELECT w.to_state FROM wanted w)
    UNION ALL
    SELECT o.workflow_step_uuid, w.to_state
      FROM wanted w
     CROSS JOIN LATERAL (
           SELECT x.workflow_step_uuid FROM :"schema".workflow_step_transitions x
            WHERE x.to_state = w.to_state AND x.most_recent AND :ids IS NULL AND 'step_by_state' = ANY (:met_needs)
            ORDER BY x.created_at LIMIT 1000) AS o
    UNION ALL
    (SELECT x.workflow_step_uuid, x.to_state FROM :"schema".workflow_step_transitions x
      WHERE EXISTS (SELECT FROM wanted w WHERE w.to_state = 'error') AND x.to_state = 'error' AND x.most_recent
        AND :ids IS NULL AND 'step_by_state' = ANY (:met_needs) AND x.created_at < now() - :blocked
      ORDER BY x.created_at DESC LIMIT 1000)
  ),
  entered AS MATERIALIZED (
    SELECT x.workflow_step_uuid, x.to_state, x.created_at AS at, x.metadata FROM :"schema".workflow_step_transitions x
     WHERE x.most_recent AND x.workflow_step_uuid = ANY (ARRAY(SELECT i.workflow_step_uuid FROM in_state i))
    UNION ALL
    SELECT NULL, NULL, NULL, NULL
     WHERE :ids IS NULL
       AND ((SELECT count(*) FROM candidates) = 5000
            OR 'step_by_state' = ANY (:met_needs)
           AND EXISTS (SELECT FROM in_state i GROUP BY i.to_state HAVING count(DISTINCT i.workflow_step_uuid) >= 1000))
  ),
  unprocessed AS MATERIALIZED (
    SELECT s.workflow_step_uuid, s.task_uuid, s.named_step_uuid, s.retryable, s.max_attempts, s.in_process, s.attempts,
           s.results, s.checkpoint, s.updated_at, s.last_attempted_at, s.backoff_request_seconds
      FROM :"schema".workflow_steps s
     WHERE s.processed = false AND s.workflow_step_uuid = ANY (ARRAY(SELECT i.workflow_step_uuid FROM in_state i))
  )
  SELECT s.*, e.to_state, e.at, e.metadata
    FROM unprocessed s FULL JOIN entered e ON e.workflow_step_uuid = s.workflow_step_uuid
   WHERE s.workflow_step_uuid IS NOT NULL OR e.workflow_step_uuid IS NULL
)
