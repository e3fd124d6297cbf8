-- A task in error is taken up again: its failed steps get a new budget, its dead letter, if it has one, is resolved, and it
-- is moved to where the engine finds it. Its own code holds that nothing leaves error; nothing checks that again.
-- $1 ids text[]: local ids
-- $2 versions text[]: version of each node that the operator saw
-- $3 operator text: who
-- $4 reason text: why
-- $5 args jsonb: budget (fresh, one more), checkpoint (keep, clear), note, name
-- $6 limits jsonb
-- Indexes: tasks_pkey, workflow_steps_pkey, idx_workflow_steps_task_covering, the unique ones on current transitions, idx_dlq_task.

\ir ../parts/lock.sql

-- :refused
SELECT r.id, r.why
  FROM (
    SELECT i AS id,
           CASE WHEN i LIKE 'dead_letter:%' AND d.resolution_status <> 'pending' THEN 'this dead letter is decided on: ' || d.resolution_status
                WHEN x.to_state IS NULL THEN 'none of the task''s transitions is the current one: mend that by hand first'
                WHEN x.to_state = 'blocked_by_failures' THEN 'the task is blocked by failures, not dead: retry it'
                WHEN x.to_state <> 'error' THEN 'the task is ' || x.to_state || ', not in error'
                WHEN NOT EXISTS (SELECT FROM :"schema".workflow_steps s WHERE s.task_uuid = x.task_uuid) THEN 'the task has no steps: nothing is left to take up'
           END AS why
      FROM unnest($1::text[]) AS i
      LEFT JOIN :"schema".tasks_dlq d ON d.dlq_entry_uuid = CASE WHEN i LIKE 'dead_letter:%' THEN substr(i, 13)::uuid END
      LEFT JOIN :"schema".task_transitions x ON x.most_recent
            AND x.task_uuid = CASE WHEN i LIKE 'dead_letter:%' THEN d.task_uuid ELSE substr(i, 6)::uuid END) AS r
 WHERE r.why IS NOT NULL

\ir ../parts/rows.sql

\ir ../parts/retry_steps.sql

-- :change
-- Its pending dead letter; what the metadata say stays and more is added.
WITH
\ir ../parts/involved.sql
UPDATE :"schema".tasks_dlq d
   SET resolution_status = 'manually_resolved', resolution_timestamp = now(),
       resolution_notes = coalesce(nullif($5::jsonb ->> 'note', ''), $4::text),
       resolved_by = left(coalesce(nullif($5::jsonb ->> 'name', ''), $3::text), 255),
       metadata = coalesce(d.metadata, '{}') || jsonb_build_object('unstick', jsonb_build_object(
         'action', 'revive', 'operator', $3::text, 'reason', $4::text, 'action_id', pg_current_xact_id()::text)),
       updated_at = now()
  FROM involved n
 WHERE d.task_uuid = n.task_uuid AND d.resolution_status = 'pending'

\ir ../parts/wake_task.sql

\ir ../parts/changed.sql
