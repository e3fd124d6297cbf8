-- Jobs that are blocked by the concurrency key of these jobs, and the ready jobs of these queues.
-- Indexes: solid_queue_jobs_pkey; those on solid_queue_blocked_executions(concurrency_key, priority, job_id) and
-- solid_queue_ready_executions(queue_name, priority, job_id).
(SELECT 'job:' || b.job_id AS id, 'waiter' AS relation, 'jobs that the same concurrency key blocks' AS note
   FROM :"schema".solid_queue_blocked_executions b
  WHERE b.concurrency_key = ANY (ARRAY(SELECT j.concurrency_key FROM :"schema".solid_queue_jobs j
                                        WHERE j.id = ANY (:job_keys)))
    AND 'job:' || b.job_id <> ALL (:ids) LIMIT :limit)
UNION ALL
(SELECT 'job:' || r.job_id, 'descendant', ''
   FROM :"schema".solid_queue_ready_executions r
  WHERE r.queue_name = ANY (:queue_keys) LIMIT :limit)
