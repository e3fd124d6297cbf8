-- Add a task to the dead-letter queue manually, with a snapshot of the task. The task itself does not change. The
-- staleness detector writes dead letters before it locks transitions. Lock only the task's row here: holding a
-- transition as well could cause a deadlock with the detector.
-- Indexes: tasks_pkey, idx_task_transitions_task, the unique index on current task transitions, idx_dlq_task.

-- :lock
WITH held AS MATERIALIZED (
  SELECT t.task_uuid, t.xmin::text AS row_version
    FROM :"schema".tasks t
   WHERE t.task_uuid = ANY (:task_keys)
   ORDER BY t.task_uuid
     FOR NO KEY UPDATE SKIP LOCKED
)
SELECT 'task:' || h.task_uuid AS id, coalesce(x.task_transition_uuid::text, 'none') || ':' || h.row_version AS version
  FROM held h LEFT JOIN :"schema".task_transitions x ON x.task_uuid = h.task_uuid AND x.most_recent

-- :refused
WITH \ir ../parts/asked_tasks.sql
SELECT a.id, r.why FROM asked_tasks a, LATERAL (SELECT coalesce(a.why,
  CASE WHEN EXISTS (SELECT FROM :"schema".tasks_dlq d WHERE d.task_uuid = a.task_uuid AND resolution_status = 'pending')
       THEN 'it is already in the dead-letter queue' END) AS why) r
 WHERE r.why IS NOT NULL

-- :change
WITH \ir ../parts/seen.sql
INSERT INTO :"schema".tasks_dlq (task_uuid, original_state, dlq_reason, task_snapshot, metadata)
SELECT n.task_uuid, x.to_state, 'manual_dlq', jsonb_build_object(
         'task_uuid', n.task_uuid, 'namespace', p.name, 'task_name', m.name, 'version', m.version, 'current_state', x.to_state,
         'time_in_state_minutes', round((extract(epoch FROM now()) - extract(epoch FROM x.created_at)) / 60), 'threshold_minutes', NULL, 'snapshot_timestamp', now(),
         'task_details', jsonb_build_object('correlation_id', t.correlation_id, 'priority', t.priority, 'requested_at', t.requested_at,
                                            'created_at', t.created_at, 'initiator', t.initiator, 'tags', t.tags),
         'steps', (SELECT coalesce(jsonb_agg(jsonb_build_object(
                     'step_uuid', r.workflow_step_uuid, 'name', r.name, 'state', r.current_state, 'attempts', r.attempts,
                     'max_attempts', r.max_attempts, 'next_retry_at', r.next_retry_at, 'parents', r.total_parents, 'parents_done', r.completed_parents,
                     'error', CASE WHEN octet_length((s.results -> 'error')::text) <= 4000 THEN s.results -> 'error'
                                   ELSE to_jsonb(left(s.results #>> '{error,message}', 1000)) END) ORDER BY r.workflow_step_uuid), '[]')
                     FROM :"schema".get_step_readiness_status(n.task_uuid, NULL) r JOIN :"schema".workflow_steps s ON s.workflow_step_uuid = r.workflow_step_uuid),
         'transitions', (SELECT coalesce(jsonb_agg(jsonb_build_object('state', y.to_state, 'at', y.created_at) ORDER BY y.sort_key DESC), '[]')
                           FROM (SELECT y.* FROM :"schema".task_transitions y WHERE y.task_uuid = n.task_uuid ORDER BY y.sort_key DESC LIMIT 50) AS y)),
       -- The engine's view of open dead letters reads this value as an integer.
       jsonb_build_object('detection_method', 'manual', 'time_in_state_minutes', least(floor((extract(epoch FROM now()) - greatest(extract(epoch FROM x.created_at), -1e11)) / 60), 2147483647)::int,
                          'threshold_minutes', NULL, 'operator', :operator, 'reason', :reason, 'console', 'unstick',
                          'action_id', pg_current_xact_id()::text)
  FROM seen n
  JOIN :"schema".tasks t ON t.task_uuid = n.task_uuid
  JOIN :"schema".task_transitions x ON x.task_uuid = n.task_uuid AND x.most_recent
  JOIN :"schema".named_tasks m ON m.named_task_uuid = t.named_task_uuid
  JOIN :"schema".task_namespaces p ON p.task_namespace_uuid = m.task_namespace_uuid
 WHERE n.state NOT IN ('complete', 'cancelled', 'resolved_manually')
ON CONFLICT (task_uuid) WHERE resolution_status = 'pending' DO NOTHING
RETURNING 'task:' || task_uuid AS id
