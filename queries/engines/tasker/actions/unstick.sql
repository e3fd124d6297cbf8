-- Move a task that an orchestrator abandoned to a state that the poller finds, or to its end.
-- Index for the witnesses: task_transitions_pkey backwards.

\ir ../parts/task_refusals.sql
                WHEN x.to_state NOT IN ('initializing', 'enqueuing_steps', 'evaluating_results', 'steps_in_process')
                THEN 'it is ' || x.to_state || ', so no orchestrator abandoned it'
                WHEN k.total_steps = 0 THEN 'it has no steps yet, and only the engine can create them'
                WHEN x.created_at > now() - :unstick_after
                THEN 'it entered this state only ' || round(extract(epoch FROM now()) - extract(epoch FROM x.created_at)) || ' s ago. An orchestrator may be working on it'
                WHEN x.to_state IN ('steps_in_process', 'evaluating_results') AND k.in_progress_steps + k.enqueued_steps > 0
                THEN (k.in_progress_steps + k.enqueued_steps) || ' of its steps are in flight. The next result continues it' END AS why
\ir ../parts/refused_in_context.sql

-- :witnesses
-- Signs of life or death of the orchestrators that moved the tasks last. The engine records the orchestrator of a task's
-- transition, but no heartbeat. Ids of transitions are in order of time, so the newest 5,000 show what each did last.
-- A task in steps_in_process has no orchestrator: it waits for results.
WITH asked AS MATERIALIZED (
  SELECT i AS id, x.created_at AS began, x.processor_uuid AS who
    FROM unnest(:ids) AS i
    JOIN :"schema".task_transitions x ON x.task_uuid = substr(i, 6)::uuid AND x.most_recent
   WHERE x.to_state IN ('initializing', 'enqueuing_steps', 'evaluating_results')
),
recent AS MATERIALIZED (
  SELECT x.created_at, x.processor_uuid AS who FROM :"schema".task_transitions x ORDER BY x.task_transition_uuid DESC LIMIT 5000
),
\set patience orchestrator
\set who orchestrator
\ir ../parts/other_work.sql
    CASE WHEN j.who IS NULL THEN 'not recorded: the transition names no orchestrator'
         WHEN j.moved > j.began THEN 'orchestrator ' || j.who || ' moved another task ' || date_trunc('second', localtimestamp - j.moved) || ' ago'
         ELSE 'none of orchestrator ' || j.who || ' since it moved this task'
              || coalesce('; another one moved a task ' || date_trunc('second', localtimestamp - j.others) || ' ago', '; none of other orchestrators') END
 ) AS w(witness, verdict, detail)

\ir ../parts/change_seen.sql
SELECT :"schema".transition_task_state_atomic(n.task_uuid, x.to_state, (CASE k.execution_status WHEN 'all_complete' THEN 'complete' WHEN 'blocked_by_failures' THEN 'blocked_by_failures'
              WHEN 'processing' THEN 'steps_in_process' ELSE 'waiting_for_dependencies' END)::varchar, NULL, jsonb_build_object(
         'event', CASE k.execution_status WHEN 'all_complete' THEN 'AllStepsSuccessful' WHEN 'blocked_by_failures' THEN 'PermanentFailure'
              WHEN 'processing' THEN 'StepsEnqueued' ELSE 'NoDependenciesReady' END,
\ir ../parts/seen_tasks.sql
 CROSS JOIN LATERAL :"schema".get_task_execution_context(n.task_uuid) AS k
 WHERE x.to_state IN ('initializing', 'enqueuing_steps')
    OR x.to_state IN ('evaluating_results', 'steps_in_process') AND k.in_progress_steps + k.enqueued_steps = 0

\ir ../parts/finished.sql

\ir ../parts/changed.sql
