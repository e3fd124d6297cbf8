-- End the claim of a dead worker, so that the step can be retried. Nothing fences the worker: if it is alive, the engine
-- rejects its late result, or takes it for the new attempt's result if another worker has claimed the step by then.

-- :refused
WITH \ir ../parts/asked_steps.sql
SELECT a.id, r.why FROM asked_steps a, LATERAL (SELECT coalesce(a.why,
  CASE WHEN a.to_state <> 'in_progress' THEN 'it is ' || a.to_state || ', so no worker has claimed it'
       WHEN NOT a.retryable AND coalesce(:args ->> 'again', 'false') <> 'true'
       THEN 'it is marked as not retryable. Set again to run it anyway'
       WHEN a.attempts >= coalesce(a.max_attempts, 3) AND coalesce(:args ->> 'again', 'false') <> 'true'
       THEN 'this was the last of its attempts: complete it, or cancel its task. Set again to run it once more' END) AS why) r
 WHERE r.why IS NOT NULL

-- :witnesses
-- Signs of life or death of the workers that claimed the requested steps. The engine records the worker of a claim and
-- of a result, but no heartbeat. Ids of transitions are in order of time, so the newest 5,000 tell what each did last.
-- Indexes: workflow_steps_pkey, the unique index on current transitions, workflow_step_transitions_pkey backwards,
-- idx_workflow_steps_named_step (at most 200 runs of the same step).
WITH asked AS MATERIALIZED (
  SELECT i AS id, s.named_step_uuid, s.updated_at, x.created_at AS began, x.metadata ->> 'worker_uuid' AS who, :orphaned AS patience
    FROM unnest(:ids) AS i
    JOIN :"schema".workflow_steps s ON s.workflow_step_uuid = substr(i, 6)::uuid
    JOIN :"schema".workflow_step_transitions x ON x.workflow_step_uuid = s.workflow_step_uuid AND x.most_recent
   WHERE x.to_state = 'in_progress'
),
recent AS MATERIALIZED (
  SELECT x.created_at, x.metadata ->> 'worker_uuid' AS who
    FROM :"schema".workflow_step_transitions x ORDER BY x.workflow_step_transition_uuid DESC LIMIT 5000
),
\ir ../parts/usual_times.sql
, \ir ../parts/judged.sql
SELECT j.id AS id, w.witness AS witness, w.verdict AS verdict, w.detail AS detail,
       extract(epoch FROM j.began AT TIME ZONE current_setting('TimeZone'))::float8 AS since
  FROM judged j
 CROSS JOIN LATERAL (
   SELECT 'heartbeat', 'unknown', 'not recorded: the engine has no heartbeat, lease or advisory lock'
   UNION ALL
   SELECT 'other work of the worker', j.verdict,
    CASE WHEN j.who IS NULL THEN 'not recorded: the claim names no worker'
         WHEN j.moved > j.began THEN 'worker ' || j.who || ' claimed or ended another step ' || date_trunc('second', localtimestamp - j.moved) || ' ago'
         ELSE 'none of worker ' || j.who || ' since the claim'
              || coalesce('; another worker claimed or ended one ' || date_trunc('second', localtimestamp - j.others) || ' ago', '; none of other workers') END
   UNION ALL
   SELECT 'run time',
    CASE WHEN u.p95 IS NULL THEN 'unknown'
         WHEN j.age <= make_interval(secs => least(u.p95, 1e9)) THEN 'alive'
         WHEN j.age > greatest(j.patience, make_interval(secs => least(:orphaned_factor * u.p95, 1e9))) THEN 'dead'
         ELSE 'unknown' END,
    'claimed ' || coalesce(date_trunc('second', j.age) || ' ago', 'at ' || j.began) || '; '
      || coalesce('95 % of ' || u.n || ' runs of this step took at most ' || make_interval(secs => round(least(u.p95, 1e9)::numeric, 1)), 'no run of this step is recorded')
     FROM (SELECT) AS always LEFT JOIN usual_times u ON u.named_step_uuid = j.named_step_uuid
   UNION ALL
   SELECT 'last write',
    CASE WHEN j.updated_at <= j.began + interval '5 seconds' THEN 'unknown'
         WHEN j.updated_at > localtimestamp - j.patience THEN 'alive' ELSE 'dead' END,
    CASE WHEN j.updated_at <= j.began + interval '5 seconds' THEN 'none to the step since the claim; only a batch writes while it runs'
         ELSE 'the step was written ' || date_trunc('second', localtimestamp - j.updated_at) || ' ago, after the claim' END
 ) AS w(witness, verdict, detail)

-- :witnesses
-- A worker archives the message right after the claim, before it runs the step.
-- needs: pgmq
WITH asked AS MATERIALIZED (
  SELECT i AS id, s.workflow_step_uuid, x.created_at AS claimed, 'worker_' || p.name || '_queue' AS queue_name
    FROM unnest(:ids) AS i
    JOIN :"schema".workflow_steps s ON s.workflow_step_uuid = substr(i, 6)::uuid
    JOIN :"schema".workflow_step_transitions x ON x.workflow_step_uuid = s.workflow_step_uuid AND x.most_recent AND x.to_state = 'in_progress'
    JOIN :"schema".tasks t ON t.task_uuid = s.task_uuid
    JOIN :"schema".named_tasks n ON n.named_task_uuid = t.named_task_uuid
    JOIN :"schema".task_namespaces p ON p.task_namespace_uuid = n.task_namespace_uuid
),
queues AS (SELECT DISTINCT a.queue_name FROM asked a),
\ir ../parts/queue_tables.sql
, \ir ../parts/messages.sql
, own AS MATERIALIZED (
  SELECT m.m ->> 'step' AS step, max((m.m ->> 'vt')::float8) AS visible, max((m.m ->> 'read')::int8) AS reads
    FROM messages m WHERE m.m ->> 'step' = ANY (ARRAY(SELECT a.workflow_step_uuid::text FROM asked a)) GROUP BY 1
)
SELECT a.id AS id, 'queue message' AS witness,
       CASE WHEN u.queue_name IS NULL AND o.step IS NOT NULL
                 AND a.claimed < localtimestamp - make_interval(secs => 2 * (:settings ->> 'visibility')::float8)
            THEN 'dead' ELSE 'unknown' END AS verdict,
       CASE WHEN u.queue_name IS NOT NULL THEN 'the queue cannot be read: ' || u.unread
            WHEN o.step IS NULL THEN 'not among the first 2,000 of ' || a.queue_name || ', as after every claim'
            ELSE 'still in ' || a.queue_name || ', read ' || o.reads || ' times, '
                 || CASE WHEN o.visible > extract(epoch FROM now()) THEN 'hidden for ' || make_interval(secs => ceil(least(o.visible - extract(epoch FROM now()), 1e9))) ELSE 'visible' END
                 || '; a worker archives it right after the claim' END AS detail
  FROM asked a
  LEFT JOIN own o ON o.step = a.workflow_step_uuid::text
  LEFT JOIN queue_tables u ON u.queue_name = a.queue_name AND u.unread IS NOT NULL

-- :change
WITH \ir ../parts/steps_seen.sql
, moving AS MATERIALIZED (
  SELECT s.*, 'waiting_for_retry' AS becomes, '{"type":"WaitForRetry"}' AS event FROM steps_seen s WHERE s.to_state = 'in_progress'
),
\ir ../parts/left_behind.sql
, \ir ../parts/moved.sql
UPDATE :"schema".workflow_steps s
   SET in_process = false, backoff_request_seconds = 0, last_attempted_at = least(coalesce(s.last_attempted_at, localtimestamp), localtimestamp),
       max_attempts = greatest(coalesce(s.max_attempts, 3), coalesce(s.attempts, 0) + 1), retryable = true, updated_at = now()
  FROM moved m
 WHERE s.workflow_step_uuid = m.workflow_step_uuid

-- :change
WITH \ir ../parts/changed.sql
, \ir ../parts/continued.sql
SELECT c.moved FROM continued c

-- :change
WITH \ir ../parts/finished.sql
, \ir ../parts/changed.sql
SELECT c.id FROM changed c
