-- Move a task that an orchestrator abandoned to a state that the poller finds, or to its end.
-- $1 ids text[]: local ids
-- $2 versions text[]: version of each node that the operator saw
-- $3 operator text
-- $4 reason text
-- $6 settings jsonb
-- Indexes: tasks_pkey, workflow_steps_pkey, idx_workflow_steps_task_covering, idx_dlq_task, the unique indexes on current
-- transitions; for the witnesses task_transitions_pkey backwards.

\ir ../parts/lock.sql

-- :refused
SELECT r.id, r.why
  FROM (
    SELECT i AS id,
           CASE
\ir ../parts/task_refusals.sql
                WHEN x.to_state NOT IN ('initializing', 'enqueuing_steps', 'evaluating_results', 'steps_in_process')
                THEN 'it is ' || x.to_state || ', so no orchestrator abandoned it'
                WHEN k.total_steps = 0 THEN 'it has no steps yet, and only the engine can create them'
                WHEN x.created_at > now() - make_interval(secs => ($6::jsonb ->> 'unstick_after')::float8)
                THEN 'it entered this state only ' || round(extract(epoch FROM now() - x.created_at)) || ' s ago. An orchestrator may be working on it'
                WHEN x.to_state IN ('steps_in_process', 'evaluating_results') AND k.in_progress_steps + k.enqueued_steps > 0
                THEN (k.in_progress_steps + k.enqueued_steps) || ' of its steps are in flight. The next result continues it' END AS why
\ir ../parts/asked_tasks.sql
      LEFT JOIN LATERAL :"schema".get_task_execution_context(t.task_uuid) k ON true) AS r
 WHERE r.why IS NOT NULL

-- :witnesses
-- Signs of life or death of the orchestrators that moved the tasks last. The engine records the orchestrator of a task's
-- transition, but no heartbeat. Ids of transitions are in order of time, so the newest 5,000 show what each did last.
WITH asked AS MATERIALIZED (
  SELECT i AS id, x.created_at AS entered, x.processor_uuid AS orchestrator
    FROM unnest($1::text[]) AS i
    JOIN :"schema".task_transitions x ON x.task_uuid = substr(i, 6)::uuid AND x.most_recent
   WHERE x.to_state IN ('initializing', 'enqueuing_steps', 'evaluating_results', 'steps_in_process')
),
recent AS MATERIALIZED (
  SELECT x.created_at, x.processor_uuid AS orchestrator FROM :"schema".task_transitions x ORDER BY x.task_transition_uuid DESC LIMIT 5000
),
reach AS (SELECT CASE WHEN count(*) < 5000 THEN '-infinity'::timestamp ELSE min(r.created_at) END AS since FROM recent r),
moves AS MATERIALIZED (
  SELECT r.orchestrator, max(r.created_at) AS at, row_number() OVER (ORDER BY max(r.created_at) DESC) AS place
    FROM recent r WHERE r.orchestrator IS NOT NULL GROUP BY r.orchestrator
),
judged AS MATERIALIZED (
  SELECT a.*, m.at AS moved, o.at AS others, greatest(a.entered, coalesce(m.at, e.since)) AS silent_since,
         make_interval(secs => ($6::jsonb ->> 'orchestrator')::float8) AS patience
    FROM asked a
   CROSS JOIN reach e
    LEFT JOIN moves m ON m.orchestrator = a.orchestrator
    LEFT JOIN LATERAL (SELECT max(p.at) AS at FROM moves p WHERE p.place <= 2 AND p.orchestrator <> a.orchestrator) AS o ON true
)
SELECT j.id AS id, w.witness AS witness, w.verdict AS verdict, w.detail AS detail,
       extract(epoch FROM j.entered AT TIME ZONE current_setting('TimeZone'))::float8 AS since
  FROM judged j
 CROSS JOIN LATERAL (
   SELECT 'heartbeat', 'unknown', 'not recorded: the engine has no heartbeat, lease or advisory lock'
   UNION ALL
   SELECT 'other work of the orchestrator',
    CASE WHEN j.orchestrator IS NULL THEN 'unknown'
         WHEN j.moved > j.entered AND j.moved > localtimestamp - j.patience THEN 'alive'
         WHEN j.silent_since < localtimestamp - j.patience AND j.others > localtimestamp - j.patience THEN 'dead'
         ELSE 'unknown' END,
    CASE WHEN j.orchestrator IS NULL THEN 'not recorded: the transition names no orchestrator'
         WHEN j.moved > j.entered THEN 'orchestrator ' || j.orchestrator || ' moved another task ' || date_trunc('second', localtimestamp - j.moved) || ' ago'
         ELSE 'none of orchestrator ' || j.orchestrator || ' since it moved this task'
              || coalesce('; another one moved a task ' || date_trunc('second', localtimestamp - j.others) || ' ago', '; none of other orchestrators') END
 ) AS w(witness, verdict, detail)

\ir ../parts/rows.sql

-- :change
WITH
\ir ../parts/seen.sql
SELECT :"schema".transition_task_state_atomic(n.task_uuid, x.to_state, (CASE k.execution_status WHEN 'all_complete' THEN 'complete' WHEN 'blocked_by_failures' THEN 'blocked_by_failures'
              WHEN 'processing' THEN 'steps_in_process' ELSE 'waiting_for_dependencies' END)::varchar, NULL, jsonb_build_object(
         'event', CASE k.execution_status WHEN 'all_complete' THEN 'AllStepsSuccessful' WHEN 'blocked_by_failures' THEN 'PermanentFailure'
              WHEN 'processing' THEN 'StepsEnqueued' ELSE 'NoDependenciesReady' END, 'timestamp', now(), 'operator', $3::text, 'reason', $4::text, 'console', 'unstick',
         'action_id', pg_current_xact_id()::text))
  FROM seen n
  JOIN :"schema".task_transitions x ON x.task_uuid = n.task_uuid AND x.most_recent
 CROSS JOIN LATERAL :"schema".get_task_execution_context(n.task_uuid) AS k
 WHERE x.to_state IN ('initializing', 'enqueuing_steps')
    OR x.to_state IN ('evaluating_results', 'steps_in_process') AND k.in_progress_steps + k.enqueued_steps = 0

\ir ../parts/finished.sql

\ir ../parts/changed.sql
