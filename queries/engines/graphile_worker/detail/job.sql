-- The job's queue, key, priority and flags.
-- title: Job
-- kinds: job
-- Indexes: jobs_pkey1, job_queues_pkey1.
SELECT substring(convert_to(d.text, 'UTF8') FOR :bytes) AS payload, octet_length(d.text)::int8 AS size
  FROM :"schema"._private_jobs j
  LEFT JOIN :"schema"._private_job_queues q ON q.id = j.job_queue_id
 CROSS JOIN LATERAL (SELECT jsonb_build_object('queue', q.queue_name, 'key', j.key, 'priority', j.priority, 'revision', j.revision, 'flags', j.flags)::text AS text) AS d
 WHERE j.id = substr(:id, 5)::int8
