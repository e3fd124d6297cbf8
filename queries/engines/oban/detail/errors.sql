-- title: Errors of all attempts
-- kinds: job
-- Index: oban_jobs_pkey.
SELECT substring(convert_to(to_jsonb(j.errors)::text, 'UTF8') FOR :bytes) AS payload, octet_length(to_jsonb(j.errors)::text)::int8 AS size
  FROM :"schema".oban_jobs j
 WHERE j.id = substr(:id, 5)::int8 AND jsonb_array_length(to_jsonb(j.errors)) > 0
