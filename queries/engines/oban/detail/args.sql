-- title: Arguments
-- kinds: job
-- Index: oban_jobs_pkey.
SELECT substring(convert_to(j.args::text, 'UTF8') FOR :bytes) AS payload, octet_length(j.args::text)::int8 AS size
  FROM :"schema".oban_jobs j
 WHERE j.id = substr(:id, 5)::int8
