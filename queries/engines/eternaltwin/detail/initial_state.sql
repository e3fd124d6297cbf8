-- title: Initial state of the job
-- kinds: task job
-- $1 id text: local id
-- $2 bytes int: number of bytes to send
-- Indexes: task_pkey, job_pkey.
SELECT substring(j.initial_state FOR $2::int) AS payload, octet_length(j.initial_state)::int8 AS size
  FROM :"schema".job j
 WHERE j.job_id = CASE WHEN $1::text LIKE 'job:%' THEN substr($1::text, 5)::uuid
                       ELSE (SELECT t.job_id::uuid FROM :"schema".task t WHERE t.task_id = substr($1::text, 6)::uuid) END
