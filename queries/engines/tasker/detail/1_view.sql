-- title: The engine's view
-- kinds: task
-- Indexes: tasks_pkey; the engine's function reads only this task's steps.
SELECT k.execution_status, k.recommended_action, k.completed_steps || '/' || k.total_steps AS steps_done, k.ready_steps::text AS ready,
       k.failed_steps::text AS failed, (k.in_progress_steps + k.enqueued_steps)::text AS in_flight,
       t.priority::text, t.requested_at::text, t.initiator::text, t.source_system::text, t.reason::text, t.tags::text,
       t.correlation_id::text, t.parent_correlation_id::text
  FROM :"schema".tasks t
 CROSS JOIN LATERAL :"schema".get_task_execution_context(t.task_uuid) AS k
 WHERE t.task_uuid = substr(:id, 6)::uuid
