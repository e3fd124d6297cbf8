-- Dead letters that nobody has decided on: worst first as the engine weighs its reasons, the oldest first within one;
-- among the oldest 5,000.
-- The fingerprint is what the task's failed step says now, or else the letter's reason and state, with ids, hexadecimal
-- digits and numbers folded.
-- $1 cursor text: weight|seconds|dlq_entry_uuid of the last row of the page before, or NULL
-- $2 page int: how many at most
-- Indexes: idx_dlq_status_timestamp, idx_workflow_steps_ready_covering, the state_lookups.
WITH pending AS MATERIALIZED (
  SELECT d.dlq_entry_uuid, d.task_uuid, d.dlq_reason, d.original_state, d.dlq_timestamp, d.task_snapshot,
         CASE d.dlq_reason WHEN 'dependency_cycle_detected' THEN 1 WHEN 'max_retries_exceeded' THEN 2
              WHEN 'staleness_timeout' THEN 3 WHEN 'worker_unavailable' THEN 4 ELSE 5 END AS weight
    FROM tasks_dlq d
   WHERE d.resolution_status = 'pending'
   ORDER BY d.dlq_timestamp
   LIMIT 5000
),
page AS MATERIALIZED (
  SELECT p.*
    FROM pending p
   WHERE $1::text IS NULL
      OR (p.weight, p.dlq_timestamp, p.dlq_entry_uuid)
         > (split_part($1::text, '|', 1)::int, split_part($1::text, '|', 2)::timestamp, split_part($1::text, '|', 3)::uuid)
   ORDER BY p.weight, p.dlq_timestamp, p.dlq_entry_uuid
   LIMIT $2::int
)
SELECT 'letter:' || p.dlq_entry_uuid AS id, p.weight || '|' || p.dlq_timestamp || '|' || p.dlq_entry_uuid AS cursor,
       p.dlq_reason || ' · ' || coalesce(p.task_snapshot ->> 'namespace', '?') || '/' || coalesce(p.task_snapshot ->> 'task_name', '?')
       || ' · ' || coalesce(e.name || ': ' || regexp_replace(regexp_replace(regexp_replace(left(e.message, 300),
            '[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}', '<id>', 'g'),
            '\m(0x[0-9a-fA-F]+|(?=[0-9a-fA-F]*[0-9])(?=[0-9a-fA-F]*[a-fA-F])[0-9a-fA-F]{8,})\M', '<hex>', 'g'),
            '\d+', '<n>', 'g'), 'was ' || p.original_state) AS fingerprint,
       p.original_state::text AS was, coalesce(x.to_state, 'no current state')::text AS is_now
  FROM page p
  LEFT JOIN LATERAL (SELECT x.to_state FROM task_transitions x WHERE x.task_uuid = p.task_uuid AND x.most_recent OFFSET 0) AS x ON true
  LEFT JOIN LATERAL (
    SELECT n.name, coalesce(s.results #>> '{error,message}', 'failed without a message') AS message
      FROM workflow_steps s
      JOIN workflow_step_transitions y ON y.workflow_step_uuid = s.workflow_step_uuid AND y.most_recent AND y.to_state = 'error'
      JOIN named_steps n ON n.named_step_uuid = s.named_step_uuid
     WHERE s.task_uuid = p.task_uuid AND s.processed = false
     ORDER BY s.workflow_step_uuid LIMIT 1) AS e ON true
 ORDER BY p.weight, p.dlq_timestamp, p.dlq_entry_uuid
