-- title: Timeline
-- kinds: step
-- $1 id text: local id
-- The last 200 changes of the step with what each wait was for: the queue, the handler, or the orchestrator.
-- Index: idx_workflow_step_transitions_sort_key.
SELECT date_trunc('milliseconds', w.at)::text AS at, date_trunc('milliseconds', w.at - w.before)::text AS waited,
       CASE w.was WHEN 'enqueued' THEN 'for a worker' WHEN 'in_progress' THEN 'for the handler'
                  WHEN 'enqueued_for_orchestration' THEN 'for the orchestrator' WHEN 'enqueued_as_error_for_orchestration' THEN 'for the orchestrator'
                  WHEN 'waiting_for_retry' THEN 'for its backoff' WHEN 'pending' THEN 'for its parents or the poller' WHEN 'error' THEN 'for somebody' END AS "for",
       w.was::text AS "from", w.to_state::text AS "to", coalesce(w.metadata ->> 'operator', 'worker ' || (w.metadata ->> 'worker_uuid')) AS by,
       left(coalesce(w.metadata ->> 'reason', substring(w.metadata ->> 'event' FROM '"type": ?"(\w+)"')), 160) AS note
  FROM (SELECT x.created_at AS at, lag(x.created_at) OVER p AS before, lag(x.to_state) OVER p AS was, x.to_state, x.sort_key, x.metadata
          FROM workflow_step_transitions x WHERE x.workflow_step_uuid = substr($1::text, 6)::uuid
        WINDOW p AS (ORDER BY x.sort_key)) AS w
 ORDER BY w.sort_key DESC
 LIMIT 200
