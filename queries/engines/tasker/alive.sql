-- Orchestrators, each with the newest transition of a task that it wrote. One without work leaves no sign.
-- Index: task_transitions_pkey, whose keys are in the order of time; 1,000 transitions are read.
SELECT 'orchestrator ' || left(o.processor_uuid::text, 8) AS worker, extract(epoch FROM max(o.created_at))::float8 AS seen,
       CASE WHEN max(o.created_at) >= localtimestamp - interval '1 minute' THEN true END AS alive, NULL::jsonb AS serves, false AS only
  FROM (SELECT x.processor_uuid, x.created_at FROM :"schema".task_transitions x ORDER BY x.task_transition_uuid DESC LIMIT 1000) AS o
 WHERE o.processor_uuid IS NOT NULL
 GROUP BY o.processor_uuid
UNION ALL
SELECT 'an orchestrator without work', NULL, NULL, NULL, false
