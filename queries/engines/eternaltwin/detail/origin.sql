-- title: Job
-- kinds: job
-- Index: job_pkey.
SELECT j.created_at::text, j.created_by::text, octet_length(j.initial_state)::text AS initial_state_bytes
  FROM :"schema".job j
 WHERE j.job_id = substr(:id, 5)::uuid
