-- Find steps that a worker claimed long ago and has not written to since. The engine does not record whether the worker
-- is alive, so compare with the step's usual run time. A running batch writes its checkpoint and thereby updated_at.
-- kinds: step
-- $1 ids text[]: restrict to these local ids; NULL for all
-- $2 settings jsonb
-- $3 page int: maximum number of rows
-- $4 met_needs text[]
-- Indexes: those of the included part, idx_workflow_steps_named_step (at most 200 runs of the same step).
WITH wanted AS (SELECT unnest(ARRAY['in_progress']) AS to_state),
\ir ../parts/open_steps.sql
,
\ir ../parts/ended_tasks.sql
, claimed AS MATERIALIZED (
  SELECT s.workflow_step_uuid, s.task_uuid, s.named_step_uuid, s.attempts, s.at, greatest(s.at, s.updated_at) AS heard, s.metadata ->> 'worker_uuid' AS worker
    FROM open_steps s
   WHERE greatest(s.at, s.updated_at) < now() - make_interval(secs => ($2::jsonb ->> 'orphaned')::float8)
     AND s.task_uuid NOT IN (SELECT t.task_uuid FROM ended_tasks t)
   ORDER BY s.at, s.workflow_step_uuid
   LIMIT 1000
),
usual AS MATERIALIZED (
  SELECT k.named_step_uuid, u.p95
    FROM (SELECT DISTINCT named_step_uuid FROM claimed) AS k
   CROSS JOIN LATERAL (
    SELECT percentile_cont(0.95) WITHIN GROUP (ORDER BY r.ms) / 1000 AS p95
      FROM (SELECT CASE WHEN jsonb_typeof(s.results #> '{metadata,execution_time_ms}') = 'number'
                        THEN (s.results #>> '{metadata,execution_time_ms}')::float8 END AS ms
              FROM (SELECT s.results, s.processed FROM :"schema".workflow_steps s
                     -- BETWEEN one value and ORDER BY on it: the planner then uses this index.
                     WHERE s.named_step_uuid BETWEEN k.named_step_uuid AND k.named_step_uuid
                     ORDER BY s.named_step_uuid LIMIT 200) AS s
             WHERE s.processed) AS r) AS u
)
(SELECT 'step:' || c.workflow_step_uuid AS id, extract(epoch FROM c.at)::float8 AS since,
        jsonb_build_object('age', date_trunc('second', now() - c.at)::text, 'silent', date_trunc('second', now() - c.heard)::text, 'attempt', coalesce(c.attempts, 0),
          'usual', coalesce(round(u.p95::numeric, 1) || ' s', 'unknown'), 'worker', coalesce(c.worker, 'not recorded'), 'task', c.task_uuid) AS evidence
   FROM claimed c LEFT JOIN usual u ON u.named_step_uuid = c.named_step_uuid
  WHERE c.heard < now() - make_interval(secs => least(coalesce(($2::jsonb ->> 'orphaned_factor')::float8 * u.p95, 0), 1e9))
  ORDER BY c.at, c.workflow_step_uuid
  LIMIT $3::int)
UNION ALL
SELECT NULL, NULL, NULL FROM more
