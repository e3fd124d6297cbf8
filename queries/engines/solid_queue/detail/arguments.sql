-- title: Arguments
-- kinds: job
-- Index: solid_queue_jobs_pkey.
SELECT substring(convert_to(j.arguments, 'UTF8') FOR :bytes) AS payload, octet_length(j.arguments)::int8 AS size
  FROM :"schema".solid_queue_jobs j
 WHERE j.id = substr(:id, 5)::int8 AND j.arguments IS NOT NULL
