-- Complete a task whose steps are all done, as the engine does.

\ir ../parts/lock_task.sql

\ir ../parts/task_refusals.sql
                WHEN x.to_state = 'pending' THEN 'it is pending, so the poller finds it'
                WHEN k.execution_status <> 'all_complete'
                THEN 'some of its steps are not done: ' || k.completed_steps || ' of ' || k.total_steps || ', ' || replace(k.execution_status, '_', ' ') END AS why
\ir ../parts/refused_in_context.sql

\ir ../parts/change_seen.sql
SELECT :"schema".transition_task_state_atomic(n.task_uuid, x.to_state, ('complete')::varchar, NULL, jsonb_build_object(
         'event', 'AllStepsSuccessful',
\ir ../parts/seen_tasks.sql
 CROSS JOIN LATERAL :"schema".get_task_execution_context(n.task_uuid) AS k
 WHERE k.execution_status = 'all_complete'

\ir ../parts/finished.sql

\ir ../parts/changed.sql
