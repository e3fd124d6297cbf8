-- Tasks with steps that are ready, which the poller does not look at any more: it forgets whatever has waited for more
-- than 60 minutes (30 for a retry), while the staleness detector may leave it alone for longer.
-- needs: own_functions
-- kinds: task
-- $1 ids text[]: only for these local ids, or NULL
-- $3 page int: how many at most
-- $4 have text[]
-- Indexes: those of the included part, idx_workflow_steps_task_covering, that on workflow_step_edges(to_step_uuid); of 200
-- tasks at most, and the engine's own view of those with a step that waits for no parent and may be tried, while none has
-- failed.
WITH RECURSIVE wanted AS (SELECT unnest(ARRAY['waiting_for_dependencies', 'waiting_for_retry']) AS to_state),
\ir ../parts/open_tasks.sql
, waiting AS MATERIALIZED (
  SELECT o.task_uuid, o.to_state, o.at
    FROM open_tasks o
   WHERE o.at < now() - CASE o.to_state WHEN 'waiting_for_retry' THEN interval '30 minutes' ELSE interval '60 minutes' END
   ORDER BY o.at, o.task_uuid LIMIT 200
),
steps AS MATERIALIZED (
  SELECT s.workflow_step_uuid, s.task_uuid,
         NOT s.processed AND NOT s.in_process AND (coalesce(s.attempts, 0) = 0 OR s.attempts < coalesce(s.max_attempts, 3)) AS free
    FROM :"schema".workflow_steps s WHERE s.task_uuid = ANY (ARRAY(SELECT w.task_uuid FROM waiting w))
),
step_states AS MATERIALIZED (
  SELECT x.workflow_step_uuid, x.to_state FROM :"schema".workflow_step_transitions x
   WHERE x.most_recent AND x.workflow_step_uuid = ANY (ARRAY(SELECT s.workflow_step_uuid FROM steps s))
),
known AS MATERIALIZED (
  SELECT s.task_uuid, s.workflow_step_uuid AS step, s.free, coalesce(x.to_state, 'pending') AS state
    FROM steps s FULL JOIN step_states x ON x.workflow_step_uuid = s.workflow_step_uuid
),
edges AS MATERIALIZED (
  SELECT e.from_step_uuid AS up, e.to_step_uuid AS down FROM :"schema".workflow_step_edges e
   WHERE e.to_step_uuid = ANY (ARRAY(SELECT k.step FROM known k WHERE k.free AND k.state IN ('pending', 'waiting_for_retry')))
),
held AS (
  SELECT e.down FROM edges e WHERE e.up NOT IN (SELECT k.step FROM known k WHERE k.state IN ('complete', 'resolved_manually'))
),
promising AS MATERIALIZED (
  SELECT DISTINCT k.task_uuid
    FROM known k
   WHERE k.free AND k.state IN ('pending', 'waiting_for_retry')
     AND k.step NOT IN (SELECT h.down FROM held h)
     AND k.task_uuid NOT IN (SELECT f.task_uuid FROM known f WHERE f.state = 'error')
)
(SELECT 'task:' || w.task_uuid AS id, extract(epoch FROM w.at)::float8 AS since,
        jsonb_build_object('state', w.to_state, 'waited', date_trunc('second', now() - w.at)::text, 'ready', k.ready_steps) AS evidence
   FROM waiting w
   JOIN :"schema".get_task_execution_contexts_batch(ARRAY(SELECT task_uuid FROM promising)) AS k ON k.task_uuid = w.task_uuid
  WHERE k.execution_status = 'has_ready_steps'
  ORDER BY w.at, w.task_uuid
  LIMIT $3::int)
UNION ALL
SELECT NULL, NULL, NULL FROM more
