-- Run times of 200 steps of each name in `asked(named_step_uuid)`. Index: idx_workflow_steps_named_step.
usual_times AS MATERIALIZED (
  SELECT k.named_step_uuid, u.p95, u.n
    FROM (SELECT DISTINCT named_step_uuid FROM asked) AS k
   CROSS JOIN LATERAL (
    SELECT percentile_cont(0.95) WITHIN GROUP (ORDER BY r.ms) / 1000 AS p95, count(r.ms) AS n
      FROM (SELECT CASE WHEN jsonb_typeof(s.results #> '{metadata,execution_time_ms}') = 'number'
                        THEN (s.results #>> '{metadata,execution_time_ms}')::float8 END AS ms
              FROM (SELECT s.results, s.processed FROM :"schema".workflow_steps s
                     -- BETWEEN one value and ORDER BY on it: the planner then uses this index.
                     WHERE s.named_step_uuid BETWEEN k.named_step_uuid AND k.named_step_uuid
                     ORDER BY s.named_step_uuid LIMIT 200) AS s
             WHERE s.processed) AS r) AS u
)
