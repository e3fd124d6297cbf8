-- A task whose steps are all done is complete, as the engine would have made it.
-- $1 ids text[]: local ids
-- $2 versions text[]: version of each node that the operator saw
-- $3 operator text: who
-- $4 reason text: why
-- Indexes: tasks_pkey, idx_task_transitions_task, the unique one on current task transitions, idx_dlq_task.

\ir ../parts/lock_task.sql

-- :refused
SELECT r.id, r.why
  FROM (
    SELECT i AS id,
           CASE WHEN x.to_state IS NULL THEN 'none of its transitions is the current one: mend that by hand first'
                WHEN x.to_state IN ('complete', 'cancelled', 'resolved_manually') THEN 'it is ' || x.to_state || ': it has ended'
                WHEN x.to_state = 'pending' THEN 'it is pending: the engine will look at it'
                WHEN k.execution_status <> 'all_complete'
                THEN 'not all its steps are done: ' || k.completed_steps || ' of ' || k.total_steps || ', ' || replace(k.execution_status, '_', ' ') END AS why
      FROM unnest($1::text[]) AS i
      JOIN :"schema".tasks t ON t.task_uuid = substr(i, 6)::uuid
      LEFT JOIN :"schema".task_transitions x ON x.task_uuid = t.task_uuid AND x.most_recent
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
