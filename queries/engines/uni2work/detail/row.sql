-- title: Row, as recorded
-- kinds: job
-- Index: queued_job_pkey.
SELECT q.id::text, q.creation_instance::text, q.creation_time::text, q.lock_instance::text, q.lock_time::text,
       (SELECT write_last_exec FROM (SELECT q.*) AS same)::text AS write_last_exec
  FROM (VALUES (NULL::bool)) AS absent(write_last_exec), :"schema".queued_job q
 WHERE q.id = substr(:id, 5)::int8
