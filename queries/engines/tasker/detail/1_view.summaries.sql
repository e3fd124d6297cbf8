-- title: The engine's view
-- kinds: task
-- needs: summaries, own_functions
-- Index: tasks_pkey; the engine's function reads only this task's steps.
SELECT k.execution_context ->> 'execution_status' AS execution_status, k.execution_context ->> 'recommended_action' AS recommended_action,
       (k.execution_context ->> 'completed_steps') || '/' || (k.execution_context ->> 'total_steps') AS steps_done,
       (SELECT count(*) FROM jsonb_array_elements(k.step_summaries) AS s
         WHERE s ->> 'current_state' IN ('pending', 'waiting_for_retry') AND (s ->> 'dependencies_satisfied')::bool AND (s ->> 'retry_eligible')::bool)::text AS could_run,
       k.execution_context ->> 'failed_steps' AS failed,
       k.template_configuration #>> '{lifecycle}' AS lifecycle, k.dlq_status ->> 'in_dlq' AS in_dlq,
       t.priority::text, t.requested_at::text, k.initiator, k.source_system, k.reason, t.tags::text,
       k.correlation_id::text, t.parent_correlation_id::text
  FROM :"schema".tasks t
 CROSS JOIN LATERAL :"schema".get_task_summaries(ARRAY[t.task_uuid]) AS k
 WHERE t.task_uuid = substr(:id, 6)::uuid
