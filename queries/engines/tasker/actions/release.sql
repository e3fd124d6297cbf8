-- End the claim of a dead worker, so that the step can be retried. Nothing fences the worker: if it is alive, the engine
-- rejects its late result, or takes it for the new attempt's result if another worker has claimed the step by then.

\ir ../parts/step_refusals.sql
                WHEN x.to_state <> 'in_progress' THEN 'it is ' || x.to_state || ', so no worker has claimed it'
                WHEN NOT s.retryable AND coalesce(:args ->> 'again', 'false') <> 'true'
                THEN 'it is marked as not retryable. Set again to run it anyway'
                WHEN s.attempts >= coalesce(s.max_attempts, 3) AND coalesce(:args ->> 'again', 'false') <> 'true'
                THEN 'this was the last of its attempts: complete it, or cancel its task. Set again to run it once more' END AS why
\ir ../parts/refused_steps.sql

-- :witnesses
WITH
\ir ../parts/worker_witnesses.sql

-- :witnesses
-- A worker archives the message right after the claim, before it runs the step.
-- needs: pgmq
WITH asked AS MATERIALIZED (
  SELECT i AS id, s.workflow_step_uuid, x.created_at AS claimed, 'worker_' || p.name || '_queue' AS queue_name
    FROM unnest(:ids) AS i
    JOIN :"schema".workflow_steps s ON s.workflow_step_uuid = substr(i, 6)::uuid
    JOIN :"schema".workflow_step_transitions x ON x.workflow_step_uuid = s.workflow_step_uuid AND x.most_recent AND x.to_state = 'in_progress'
    JOIN :"schema".tasks t ON t.task_uuid = s.task_uuid
\ir ../parts/namespace_of_task.sql
),
queues AS (SELECT DISTINCT a.queue_name FROM asked a),
\ir ../parts/messages.sql
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
                 || CASE WHEN o.visible > extract(epoch FROM now()) THEN 'hidden for ' || ceil(o.visible - extract(epoch FROM now())) || ' s' ELSE 'visible' END
                 || '; a worker archives it right after the claim' END AS detail
  FROM asked a
  LEFT JOIN own o ON o.step = a.workflow_step_uuid::text
  LEFT JOIN unread_queues u ON u.queue_name = a.queue_name

\set state waiting_for_retry
\set event WaitForRetry
\ir ../parts/change_moving.sql
   WHERE x.to_state = 'in_progress'
)
\ir ../parts/step_transitions.sql

\ir ../parts/change_involved.sql
UPDATE :"schema".workflow_steps s
   SET in_process = false, backoff_request_seconds = 0, last_attempted_at = least(coalesce(s.last_attempted_at, localtimestamp), localtimestamp),
       max_attempts = greatest(coalesce(s.max_attempts, 3), coalesce(s.attempts, 0) + 1),
       retryable = true,
       updated_at = now()
\ir ../parts/steps_moved.sql
   AND x.to_state = 'waiting_for_retry' AND x.created_at = localtimestamp

\ir ../parts/continue_task.sql
