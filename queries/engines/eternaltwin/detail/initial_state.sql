-- title: Initial state of the job
-- kinds: task job
-- Indexes: task_pkey, job_pkey.
SELECT substring(j.initial_state FOR :bytes) AS payload, octet_length(j.initial_state)::int8 AS size
  FROM :"schema".job j
 WHERE j.job_id = CASE WHEN :id LIKE 'job:%' THEN substr(:id, 5)::uuid
                       ELSE (SELECT t.job_id::uuid FROM :"schema".task t WHERE t.task_id = substr(:id, 6)::uuid) END
