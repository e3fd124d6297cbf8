-- Complete a task whose steps are all done, as the engine does.
-- $1 ids text[]: local ids
-- $2 versions text[]: version of each node that the operator saw
-- $3 operator text
-- $4 reason text
-- Indexes: tasks_pkey, idx_task_transitions_task, the unique index on current task transitions, idx_dlq_task.

\ir ../parts/lock_task.sql

-- :refused
SELECT r.id, r.why
  FROM (
    SELECT i AS id,
           CASE
\ir ../parts/task_refusals.sql
                WHEN x.to_state = 'pending' THEN 'it is pending, so the poller finds it'
                WHEN k.execution_status <> 'all_complete'
                THEN 'some of its steps are not done: ' || k.completed_steps || ' of ' || k.total_steps || ', ' || replace(k.execution_status, '_', ' ') END AS why
\ir ../parts/asked_tasks.sql
      LEFT JOIN LATERAL :"schema".get_task_execution_context(t.task_uuid) k ON true) AS r
 WHERE r.why IS NOT NULL

\ir ../parts/rows_task.sql

-- :change
WITH
\ir ../parts/seen.sql
SELECT :"schema".transition_task_state_atomic(n.task_uuid, x.to_state, ('complete')::varchar, NULL, jsonb_build_object(
         'event', 'AllStepsSuccessful', 'timestamp', now(), 'operator', $3::text, 'reason', $4::text, 'console', 'unstick',
         'action_id', pg_current_xact_id()::text))
  FROM seen n
  JOIN :"schema".task_transitions x ON x.task_uuid = n.task_uuid AND x.most_recent
 CROSS JOIN LATERAL :"schema".get_task_execution_context(n.task_uuid) AS k
 WHERE k.execution_status = 'all_complete'

\ir ../parts/finished.sql

\ir ../parts/changed.sql
