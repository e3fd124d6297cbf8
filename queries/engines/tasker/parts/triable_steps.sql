-- The steps of the tasks in `asked(task_uuid)` that the engine enqueues, at once or after their backoff: `triable`.
-- Indexes: those of the included part, the one on workflow_step_edges(to_step_uuid), workflow_steps_pkey. Read rows of steps and
-- edges only for steps that may run.
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
triable AS MATERIALIZED (
  SELECT s.workflow_step_uuid, s.task_uuid, s.created_at, s.updated_at, s.backoff_request_seconds, s.last_attempted_at, s.attempts
    FROM :"schema".workflow_steps s
   WHERE s.workflow_step_uuid = ANY (ARRAY(SELECT h.step FROM satisfied h))
     AND (coalesce(s.attempts, 0) = 0 OR s.retryable IS NOT FALSE AND s.attempts < coalesce(s.max_attempts, 3))
)
