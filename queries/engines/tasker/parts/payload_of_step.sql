-- A column of the step.
-- kinds: step
-- Index: workflow_steps_pkey.
SELECT substring(v.value FOR :bytes) AS payload, octet_length(v.value)::int8 AS size
  FROM (SELECT convert_to((s.:column)::text, 'UTF8') AS value FROM :"schema".workflow_steps s WHERE s.workflow_step_uuid = substr(:id, 6)::uuid) AS v
 WHERE v.value IS NOT NULL
