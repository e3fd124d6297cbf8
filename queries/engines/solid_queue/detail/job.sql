-- title: Job and its execution (times in UTC)
-- kinds: job
-- Indexes: solid_queue_jobs_pkey, those on job_id, the one on solid_queue_semaphores(key).
SELECT j.queue_name::text AS queue, j.priority, j.active_job_id::text AS "Active Job id", j.concurrency_key::text AS "concurrency key",
       m.value AS "free slots", m.expires_at::text AS "semaphore expires", b.expires_at::text AS "block expires",
       r.created_at::text AS "ready since", c.created_at::text AS "claimed at", c.process_id AS process,
       j.scheduled_at::text AS "scheduled at", j.finished_at::text AS "finished at", e.task_key::text AS "recurring task"
  FROM :"schema".solid_queue_jobs j
  LEFT JOIN :"schema".solid_queue_semaphores m ON m.key = j.concurrency_key
  LEFT JOIN :"schema".solid_queue_blocked_executions b ON b.job_id = j.id
  LEFT JOIN :"schema".solid_queue_ready_executions r ON r.job_id = j.id
  LEFT JOIN :"schema".solid_queue_claimed_executions c ON c.job_id = j.id
  LEFT JOIN :"schema".solid_queue_recurring_executions e ON e.job_id = j.id
 WHERE j.id = substr(:id, 5)::int8
