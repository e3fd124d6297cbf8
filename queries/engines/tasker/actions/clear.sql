-- Clear the in_process flag of a step that is not in process, so that the poller can find it.
-- $1 ids text[]: local ids
-- $2 versions text[]: version of each node that the operator saw
-- $3 operator text
-- $4 reason text
-- $5 args jsonb: not used
-- $6 settings jsonb
-- Indexes: tasks_pkey, workflow_steps_pkey, idx_workflow_steps_task_covering, idx_dlq_task, the unique indexes on current
-- transitions.

\ir ../parts/lock.sql

-- :refused
SELECT r.id, r.why
  FROM (
    SELECT i AS id,
           CASE
\ir ../parts/step_refusals.sql
                WHEN NOT s.in_process THEN 'its in_process flag is not set'
                WHEN x.to_state NOT IN ('pending', 'waiting_for_retry') THEN 'it is ' || x.to_state || ', so the flag may be correct' END AS why
\ir ../parts/asked_steps.sql
      ) AS r
 WHERE r.why IS NOT NULL

\ir ../parts/rows.sql

-- :change
WITH
\ir ../parts/seen.sql
UPDATE :"schema".workflow_steps s SET in_process = false, updated_at = now()
  FROM seen n
 WHERE s.workflow_step_uuid = n.step AND s.in_process

\ir ../parts/wake_task.sql

\ir ../parts/changed.sql
