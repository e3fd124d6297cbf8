-- Move a task that an orchestrator abandoned to a state that the poller finds, or to its end.
-- Index for the witnesses: task_transitions_pkey backwards.

-- :refused
WITH \ir ../parts/asked_tasks.sql
SELECT a.id, r.why FROM asked_tasks a
  LEFT JOIN LATERAL :"schema".get_task_execution_context(a.task_uuid) k ON true
 CROSS JOIN LATERAL (SELECT coalesce(a.why,
  CASE WHEN a.to_state NOT IN ('initializing', 'enqueuing_steps', 'evaluating_results', 'steps_in_process')
       THEN 'it is ' || a.to_state || ', so no orchestrator abandoned it'
       WHEN k.total_steps = 0 THEN 'it has no steps yet, and only the engine can create them'
       WHEN a.entered_at > now() - :unstick_after
       THEN 'it entered this state only ' || make_interval(secs => greatest(round(extract(epoch FROM now()) - extract(epoch FROM a.entered_at)), 0)) || ' ago. An orchestrator may be working on it'
       WHEN a.to_state IN ('steps_in_process', 'evaluating_results') AND k.in_progress_steps + k.enqueued_steps > 0
       THEN (k.in_progress_steps + k.enqueued_steps) || ' of its steps are in flight. The next result continues it' END) AS why) r
 WHERE r.why IS NOT NULL

-- :witnesses
-- Signs of life or death of the orchestrators that moved the tasks last. The engine records the orchestrator of a
-- task's transition, but no heartbeat. Ids of transitions are in order of time, so the newest 5,000 show what each did
-- last. A task in steps_in_process has no orchestrator: it waits for results.
WITH asked AS MATERIALIZED (
  SELECT i AS id, x.created_at AS began, x.processor_uuid AS who, :orchestrator AS patience
    FROM unnest(:ids) AS i
    JOIN :"schema".task_transitions x ON x.task_uuid = substr(i, 6)::uuid AND x.most_recent
   WHERE x.to_state IN ('initializing', 'enqueuing_steps', 'evaluating_results')
),
recent AS MATERIALIZED (
  SELECT x.created_at, x.processor_uuid AS who FROM :"schema".task_transitions x ORDER BY x.task_transition_uuid DESC LIMIT 5000
),
\ir ../parts/judged.sql
SELECT j.id AS id, w.witness AS witness, w.verdict AS verdict, w.detail AS detail,
       extract(epoch FROM j.began AT TIME ZONE current_setting('TimeZone'))::float8 AS since
  FROM judged j
 CROSS JOIN LATERAL (
   SELECT 'heartbeat', 'unknown', 'not recorded: the engine has no heartbeat, lease or advisory lock'
   UNION ALL
   SELECT 'other work of the orchestrator', j.verdict,
    CASE WHEN j.who IS NULL THEN 'not recorded: the transition names no orchestrator'
         WHEN j.moved > j.began THEN 'orchestrator ' || j.who || ' moved another task ' || date_trunc('second', localtimestamp - j.moved) || ' ago'
         ELSE 'none of orchestrator ' || j.who || ' since it moved this task'
              || coalesce('; another one moved a task ' || date_trunc('second', localtimestamp - j.others) || ' ago', '; none of other orchestrators') END
 ) AS w(witness, verdict, detail)

-- :change
WITH \ir ../parts/seen.sql
SELECT :"schema".transition_task_state_atomic(n.task_uuid, n.state, b.becomes::varchar, NULL, jsonb_build_object(
         'event', CASE b.becomes WHEN 'complete' THEN 'AllStepsSuccessful' WHEN 'blocked_by_failures' THEN 'PermanentFailure'
                              WHEN 'steps_in_process' THEN 'StepsEnqueued' ELSE 'NoDependenciesReady' END,
         'timestamp', now(), 'operator', :operator, 'reason', :reason, 'console', 'unstick', 'action_id', pg_current_xact_id()::text))
  FROM seen n
 CROSS JOIN LATERAL :"schema".get_task_execution_context(n.task_uuid) AS k
 CROSS JOIN LATERAL (SELECT CASE k.execution_status
     WHEN 'all_complete' THEN 'complete' WHEN 'blocked_by_failures' THEN 'blocked_by_failures'
     WHEN 'processing' THEN 'steps_in_process' ELSE 'waiting_for_dependencies' END AS becomes) AS b
 WHERE n.state IN ('initializing', 'enqueuing_steps')
    OR n.state IN ('evaluating_results', 'steps_in_process') AND k.in_progress_steps + k.enqueued_steps = 0

-- :change
WITH \ir ../parts/finished.sql
, \ir ../parts/changed.sql
SELECT c.id FROM changed c
