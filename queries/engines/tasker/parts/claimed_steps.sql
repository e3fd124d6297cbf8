-- Steps that a worker claimed long ago and has not written to since, with the usual run time of such steps. The engine does
-- not record whether the worker is alive. A running batch writes its checkpoint and thereby updated_at. A row without a
-- step marks a truncated search.
-- Indexes: those of the included parts, idx_workflow_steps_named_step (at most 200 runs of the same step).
claimed_steps AS MATERIALIZED (
  WITH wanted AS (SELECT unnest(ARRAY['in_progress']) AS to_state),
\ir open_steps.sql
, \ir ended_tasks.sql
, claimed AS MATERIALIZED (
    SELECT s.workflow_step_uuid, s.task_uuid, s.named_step_uuid, s.attempts, s.at, greatest(s.at, s.updated_at) AS heard, s.metadata ->> 'worker_uuid' AS worker
      FROM open_steps s
     WHERE greatest(s.at, s.updated_at) < now() - :orphaned
       AND s.task_uuid NOT IN (SELECT t.task_uuid FROM ended_tasks t)
     ORDER BY s.at, s.workflow_step_uuid
     LIMIT 1000
  ),
  asked AS (SELECT c.named_step_uuid FROM claimed c),
\ir usual_times.sql
  SELECT c.*, u.p95 FROM claimed c LEFT JOIN usual_times u ON u.named_step_uuid = c.named_step_uuid
  UNION ALL
  SELECT NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL
   WHERE EXISTS (SELECT FROM open_steps s WHERE s.workflow_step_uuid IS NULL) OR (SELECT count(*) FROM claimed) = 1000
)
