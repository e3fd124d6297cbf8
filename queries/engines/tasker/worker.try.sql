-- What a worker runs next on one step, :id (step:UUID), or an orchestrator on a task (task:UUID), for unstick try: the transition, and what the step's own row then has. Without messages.

-- :claim
-- kinds: step
-- An orchestrator enqueues a step that waits, which may have no transition yet; a worker takes one that is enqueued.
WITH was AS (
  UPDATE :"schema".workflow_step_transitions AS t SET most_recent = false, updated_at = now()
   WHERE t.workflow_step_uuid = substr(:id, 6)::uuid AND t.most_recent AND t.to_state IN ('pending', 'waiting_for_retry', 'error', 'enqueued') RETURNING t.workflow_step_uuid, t.to_state, t.sort_key
),
entered AS (
  INSERT INTO :"schema".workflow_step_transitions (workflow_step_uuid, from_state, to_state, metadata, sort_key, most_recent, created_at, updated_at)
  SELECT w.workflow_step_uuid, w.to_state, CASE w.to_state WHEN 'enqueued' THEN 'in_progress' ELSE 'enqueued' END, '{}', w.sort_key + 1, true, now(), now()
    FROM (SELECT w.workflow_step_uuid, w.to_state, w.sort_key FROM was w
          UNION ALL
          SELECT s.workflow_step_uuid, 'pending', 0 FROM :"schema".workflow_steps s
           WHERE s.workflow_step_uuid = substr(:id, 6)::uuid AND NOT EXISTS (SELECT FROM :"schema".workflow_step_transitions x WHERE x.workflow_step_uuid = s.workflow_step_uuid)) AS w
  RETURNING workflow_step_uuid, to_state
)
UPDATE :"schema".workflow_steps AS s
   SET in_process = e.to_state = 'in_progress', attempts = coalesce(s.attempts, 0) + (e.to_state = 'in_progress')::int,
       last_attempted_at = CASE e.to_state WHEN 'in_progress' THEN now() ELSE s.last_attempted_at END, updated_at = now()
  FROM entered e WHERE s.workflow_step_uuid = e.workflow_step_uuid RETURNING s.workflow_step_uuid;

-- :claim
-- kinds: task
WITH was AS (
  UPDATE :"schema".task_transitions AS t SET most_recent = false, updated_at = now()
   WHERE t.task_uuid = substr(:id, 6)::uuid AND t.most_recent AND t.to_state IN ('pending', 'waiting_for_dependencies', 'waiting_for_retry') RETURNING t.task_uuid, t.to_state, t.sort_key
)
INSERT INTO :"schema".task_transitions (task_uuid, from_state, to_state, metadata, sort_key, most_recent, created_at, updated_at)
SELECT w.task_uuid, w.to_state, CASE w.to_state WHEN 'pending' THEN 'initializing' WHEN 'waiting_for_retry' THEN 'enqueuing_steps' ELSE 'evaluating_results' END, '{}', w.sort_key + 1, true, now(), now() FROM was w
RETURNING task_uuid;

-- :finish
-- kinds: step
WITH was AS (
  UPDATE :"schema".workflow_step_transitions AS t SET most_recent = false, updated_at = now()
   WHERE t.workflow_step_uuid = substr(:id, 6)::uuid AND t.most_recent AND t.to_state = 'in_progress' RETURNING t.workflow_step_uuid, t.to_state, t.sort_key
),
entered AS (
  INSERT INTO :"schema".workflow_step_transitions (workflow_step_uuid, from_state, to_state, metadata, sort_key, most_recent, created_at, updated_at)
  SELECT w.workflow_step_uuid, w.to_state, 'enqueued_for_orchestration', '{"event": "{\"type\":\"EnqueueForOrchestration\"}"}', w.sort_key + 1, true, now(), now() FROM was w RETURNING workflow_step_uuid
)
UPDATE :"schema".workflow_steps AS s SET in_process = false, results = '{"success": true, "result": {}, "status": "completed"}', updated_at = now()
  FROM entered e WHERE s.workflow_step_uuid = e.workflow_step_uuid RETURNING s.workflow_step_uuid;

-- :fail
-- kinds: step
WITH was AS (
  UPDATE :"schema".workflow_step_transitions AS t SET most_recent = false, updated_at = now()
   WHERE t.workflow_step_uuid = substr(:id, 6)::uuid AND t.most_recent AND t.to_state = 'in_progress' RETURNING t.workflow_step_uuid, t.to_state, t.sort_key
),
entered AS (
  INSERT INTO :"schema".workflow_step_transitions (workflow_step_uuid, from_state, to_state, metadata, sort_key, most_recent, created_at, updated_at)
  SELECT w.workflow_step_uuid, w.to_state, 'enqueued_as_error_for_orchestration', '{"event": "{\"type\":\"EnqueueAsErrorForOrchestration\"}"}', w.sort_key + 1, true, now(), now() FROM was w RETURNING workflow_step_uuid
)
UPDATE :"schema".workflow_steps AS s SET in_process = false, results = '{"success": false, "status": "error", "error": {"message": "unstick-try", "retryable": true}}', updated_at = now()
  FROM entered e WHERE s.workflow_step_uuid = e.workflow_step_uuid RETURNING s.workflow_step_uuid;
