-- Undo transitions of steps: each step goes back to the state before the action, by a transition of its own. A step that had
-- no transition counts as pending.
-- Indexes: workflow_step_transitions_pkey, idx_workflow_step_transitions_step, the unique index on current transitions.

-- :refused
-- The engine's trigger records a transition to these states as a result of a worker.
SELECT e ->> 'id' AS id, 'irreversible: the step was ' || x.to_state || ', and entering that state again would record a second result' AS why
  FROM jsonb_array_elements(:changes::text::jsonb) AS e
  JOIN :"schema".workflow_step_transitions x ON x.workflow_step_transition_uuid = (e -> 'key' ->> 0)::uuid
 WHERE NOT (e ->> 'inserted')::bool
   AND x.to_state IN ('enqueued_for_orchestration', 'enqueued_as_error_for_orchestration')

-- :change
WITH given AS MATERIALIZED (
  SELECT DISTINCT (e -> 'key' ->> 0)::uuid AS key, (e ->> 'inserted')::bool AS inserted FROM jsonb_array_elements(:changes::text::jsonb) AS e
),
ends AS MATERIALIZED (
  SELECT x.workflow_step_uuid, min(x.to_state) FILTER (WHERE NOT g.inserted) AS was, min(x.to_state) FILTER (WHERE x.most_recent) AS current
    FROM given g JOIN :"schema".workflow_step_transitions x ON x.workflow_step_transition_uuid = g.key
   GROUP BY x.workflow_step_uuid
),
moving AS MATERIALIZED (
  SELECT s.workflow_step_uuid, s.task_uuid, e.current AS to_state, coalesce(e.was, 'pending') AS becomes, '{"type":"Undo"}' AS event
    FROM ends e JOIN :"schema".workflow_steps s ON s.workflow_step_uuid = e.workflow_step_uuid
   WHERE e.current IS NOT NULL
),
\ir ../parts/left_behind.sql
, \ir ../parts/moved.sql
SELECT m.workflow_step_uuid FROM moved m

-- :added
SELECT DISTINCT e ->> 'id' AS id, ARRAY[x.workflow_step_transition_uuid::text] AS key
  FROM jsonb_array_elements(:changes::text::jsonb) AS e
  JOIN :"schema".workflow_step_transitions o ON o.workflow_step_transition_uuid = (e -> 'key' ->> 0)::uuid
  JOIN :"schema".workflow_step_transitions x ON x.workflow_step_uuid = o.workflow_step_uuid AND x.most_recent
