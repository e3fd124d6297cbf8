-- title: Results
-- kinds: step
-- $1 id text: local id
-- $2 bytes int: maximum number of bytes to return
-- Index: workflow_steps_pkey.
SELECT substring(v.value FOR $2::int) AS payload, octet_length(v.value)::int8 AS size
  FROM (SELECT convert_to((s.results)::text, 'UTF8') AS value FROM :"schema".workflow_steps s WHERE s.workflow_step_uuid = substr($1::text, 6)::uuid) AS v
 WHERE v.value IS NOT NULL
