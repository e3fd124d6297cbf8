-- Clear the in_process flag of a step that is not in process, so that the poller can find it.

\ir ../parts/step_refusals.sql
                WHEN NOT s.in_process THEN 'its in_process flag is not set'
                WHEN x.to_state NOT IN ('pending', 'waiting_for_retry') THEN 'it is ' || x.to_state || ', so the flag may be correct' END AS why
\ir ../parts/refused_steps.sql

\set states waiting
\ir ../parts/change_seen.sql
UPDATE :"schema".workflow_steps s SET in_process = false, updated_at = now()
  FROM seen n
 WHERE s.workflow_step_uuid = n.step AND s.in_process

\ir ../parts/continue_task.sql
