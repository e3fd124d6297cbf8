-- The job's arguments.
-- title: Arguments
-- kinds: job
-- Index: procrastinate_jobs_pkey.
SELECT substr(convert_to(j.args::text, 'UTF8'), 1, :bytes) AS payload, octet_length(j.args::text)::int8 AS size
  FROM :"schema".procrastinate_jobs j
 WHERE j.id = substr(:id, 5)::int8
