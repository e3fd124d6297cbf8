-- End a blocked task, as error or as resolved_manually. Its steps do not change.
-- $1 ids text[]: local ids
-- $2 versions text[]: version of each node that the operator saw
-- $3 operator text
-- $4 reason text
-- $5 args jsonb: as (error, resolved_manually)
-- Indexes: tasks_pkey, idx_task_transitions_task, the unique index on current task transitions, idx_dlq_task.

\ir ../parts/lock_task.sql

-- :refused
SELECT r.id, r.why
  FROM (
    SELECT i AS id,
           CASE
\ir ../parts/task_refusals.sql
                WHEN x.to_state <> 'blocked_by_failures' THEN 'it is ' || x.to_state || ', not blocked_by_failures' END AS why
\ir ../parts/asked_tasks.sql
      ) AS r
 WHERE r.why IS NOT NULL

\ir ../parts/rows_task.sql

-- :change
WITH
\ir ../parts/seen.sql
SELECT :"schema".transition_task_state_atomic(n.task_uuid, x.to_state, (CASE WHEN $5::jsonb ->> 'as' = 'resolved_manually' THEN 'resolved_manually' ELSE 'error' END)::varchar, NULL, jsonb_build_object(
         'event', CASE WHEN $5::jsonb ->> 'as' = 'resolved_manually' THEN 'ManualResolution' ELSE 'GiveUp' END, 'timestamp', now(), 'operator', $3::text, 'reason', $4::text, 'console', 'unstick',
         'action_id', pg_current_xact_id()::text))
  FROM seen n
  JOIN :"schema".task_transitions x ON x.task_uuid = n.task_uuid AND x.most_recent
 WHERE x.to_state = 'blocked_by_failures'

\ir ../parts/changed.sql
