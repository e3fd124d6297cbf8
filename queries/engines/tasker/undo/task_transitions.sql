-- Undo transitions of tasks: each task goes back to the state before the action, by a transition of its own. The engine reads
-- its history as a chain and numbers it, so no transition is changed or removed.
-- Indexes: task_transitions_pkey; in the function idx_task_transitions_task.

-- :change
WITH given AS MATERIALIZED (
  SELECT DISTINCT (e -> 'key' ->> 0)::uuid AS key, (e ->> 'inserted')::bool AS inserted FROM jsonb_array_elements(:changes::text::jsonb) AS e
),
ends AS MATERIALIZED (
  SELECT x.task_uuid, min(x.to_state) FILTER (WHERE NOT g.inserted) AS was, min(x.to_state) FILTER (WHERE x.most_recent) AS current
    FROM given g JOIN :"schema".task_transitions x ON x.task_transition_uuid = g.key
   GROUP BY x.task_uuid
)
SELECT :"schema".transition_task_state_atomic(e.task_uuid, e.current::varchar, e.was::varchar, NULL, jsonb_build_object(
         'event', 'Undo', 'timestamp', now(), 'operator', :operator, 'reason', :reason, 'console', 'unstick',
         'action_id', pg_current_xact_id()::text))
  FROM ends e
 WHERE e.was IS NOT NULL AND e.current IS NOT NULL

-- :added
SELECT DISTINCT e ->> 'id' AS id, ARRAY[x.task_transition_uuid::text] AS key
  FROM jsonb_array_elements(:changes::text::jsonb) AS e
  JOIN :"schema".task_transitions o ON o.task_transition_uuid = (e -> 'key' ->> 0)::uuid
  JOIN :"schema".task_transitions x ON x.task_uuid = o.task_uuid AND x.most_recent
