-- End a blocked task, as error or as resolved_manually. Its steps do not change.

\ir ../parts/lock_task.sql

\ir ../parts/task_refusals.sql
                WHEN x.to_state <> 'blocked_by_failures' THEN 'it is ' || x.to_state || ', not blocked_by_failures' END AS why
\ir ../parts/refused_tasks.sql

\ir ../parts/change_seen.sql
SELECT :"schema".transition_task_state_atomic(n.task_uuid, x.to_state, (CASE WHEN :args ->> 'as' = 'resolved_manually' THEN 'resolved_manually' ELSE 'error' END)::varchar, NULL, jsonb_build_object(
         'event', CASE WHEN :args ->> 'as' = 'resolved_manually' THEN 'ManualResolution' ELSE 'GiveUp' END,
\ir ../parts/seen_tasks.sql
 WHERE x.to_state = 'blocked_by_failures'

\ir ../parts/changed.sql
