-- The engine's execution context for the tasks in `asked(task_uuid)`, computed here: the engine's functions use unqualified
-- names, so automatic statements must not call them. `summed` has one row per task with steps; `ready_at` is the time since
-- which its first ready step has been ready. Indexes: idx_workflow_steps_task_covering, the state_lookup, the one on
-- workflow_step_edges(to_step_uuid). Read rows of steps and edges only for steps that may run.
\ir counted_steps.sql
,
hopeful AS MATERIALIZED (
  SELECT k.step FROM known k
   WHERE k.free AND k.state IN ('pending', 'waiting_for_retry')
     AND k.task_uuid NOT IN (SELECT c.task_uuid FROM counted c WHERE c.failed > 0)
),
edges AS MATERIALIZED (
  SELECT e.from_step_uuid AS up, e.to_step_uuid AS down FROM :"schema".workflow_step_edges e
   WHERE e.to_step_uuid = ANY (ARRAY(SELECT h.step FROM hopeful h))
),
held AS (
  SELECT e.down FROM edges e WHERE e.up NOT IN (SELECT k.step FROM known k WHERE k.state IN ('complete', 'resolved_manually'))
),
satisfied AS MATERIALIZED (SELECT h.step FROM hopeful h WHERE h.step NOT IN (SELECT d.down FROM held d)),
moves AS MATERIALIZED (
  SELECT x.workflow_step_uuid AS step, max(x.created_at) FILTER (WHERE x.to_state = 'error') AS failed_at,
         max(x.created_at) FILTER (WHERE x.most_recent) AS entered
    FROM :"schema".workflow_step_transitions x
   WHERE x.workflow_step_uuid = ANY (ARRAY(SELECT s.step FROM satisfied s UNION SELECT e.up FROM edges e WHERE (e.down IN (SELECT s.step FROM satisfied s)) IS TRUE))
   GROUP BY x.workflow_step_uuid
),
freed AS (
  SELECT e.down, max(m.entered) AS at FROM edges e JOIN moves m ON m.step = e.up
   WHERE (e.down IN (SELECT s.step FROM satisfied s)) IS TRUE GROUP BY e.down
),
triable AS MATERIALIZED (
  SELECT s.workflow_step_uuid, s.task_uuid, s.created_at, s.updated_at, s.backoff_request_seconds, s.last_attempted_at, s.attempts
    FROM :"schema".workflow_steps s
   WHERE s.workflow_step_uuid = ANY (ARRAY(SELECT h.step FROM satisfied h))
     AND (coalesce(s.attempts, 0) = 0 OR s.retryable IS NOT FALSE AND s.attempts < coalesce(s.max_attempts, 3))
),
timed AS (
  SELECT s.task_uuid, r.retry_at, greatest(coalesce(s.entered, s.created_at), s.updated_at, s.freed_at, r.retry_at) AS since
    FROM (SELECT s.*, m.failed_at, m.entered, d.at AS freed_at
            FROM triable s
            FULL JOIN moves m ON m.step = s.workflow_step_uuid -- never by nested loops
            FULL JOIN freed d ON d.down = s.workflow_step_uuid OFFSET 0) AS s
   CROSS JOIN LATERAL (SELECT s.failed_at AS at) AS f
   CROSS JOIN LATERAL (SELECT
\ir retry_at.sql
                       AS retry_at) AS r
   WHERE s.workflow_step_uuid IS NOT NULL
),
summed AS MATERIALIZED (
  SELECT c.*, coalesce(r.ready, 0) AS ready, r.ready_at
    FROM counted c
    FULL JOIN (SELECT t.task_uuid, count(*) AS ready, min(t.since) AS ready_at FROM timed t
                WHERE t.retry_at IS NULL OR t.retry_at <= now() GROUP BY t.task_uuid) AS r ON r.task_uuid = c.task_uuid
)
