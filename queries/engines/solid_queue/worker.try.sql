-- What a worker runs next on one job, :id (job:12), or the scheduler on a recurring task (recurring:key), for unstick try. From ReadyExecution.claim, ClaimedExecution#finalize and
-- RecurringExecution.record, for one node and without SKIP LOCKED.

-- :claim
-- kinds: job
WITH taken AS (
  INSERT INTO :"schema".solid_queue_claimed_executions (job_id, process_id, created_at)
  SELECT r.job_id, (SELECT p.id FROM :"schema".solid_queue_processes p WHERE p.kind = 'Worker' ORDER BY p.last_heartbeat_at DESC LIMIT 1), timezone('UTC', now())
    FROM :"schema".solid_queue_ready_executions r
   WHERE r.job_id = substr(:id, 5)::int8 AND NOT EXISTS (SELECT FROM :"schema".solid_queue_pauses p WHERE p.queue_name = r.queue_name) FOR UPDATE OF r
  RETURNING job_id
)
DELETE FROM :"schema".solid_queue_ready_executions r USING taken t WHERE r.job_id = t.job_id RETURNING r.job_id;

-- :claim
-- kinds: recurring
WITH made AS (
  INSERT INTO :"schema".solid_queue_jobs (queue_name, class_name, arguments, priority, active_job_id, scheduled_at, created_at, updated_at)
  SELECT coalesce(t.queue_name, 'default'), coalesce(t.class_name, 'SolidQueue::RecurringJob'), '{}', coalesce(t.priority, 0), gen_random_uuid()::text, timezone('UTC', now()), timezone('UTC', now()), timezone('UTC', now())
    FROM :"schema".solid_queue_recurring_tasks t WHERE t.key = substr(:id, 11)
  RETURNING id, queue_name, priority
),
ready AS (
  INSERT INTO :"schema".solid_queue_ready_executions (job_id, queue_name, priority, created_at) SELECT m.id, m.queue_name, m.priority, timezone('UTC', now()) FROM made m
)
INSERT INTO :"schema".solid_queue_recurring_executions (job_id, task_key, run_at, created_at) SELECT m.id, substr(:id, 11), timezone('UTC', now()), timezone('UTC', now()) FROM made m
ON CONFLICT (task_key, run_at) DO NOTHING RETURNING job_id;

-- :finish
-- kinds: job
WITH ended AS (
  DELETE FROM :"schema".solid_queue_claimed_executions c WHERE c.job_id = substr(:id, 5)::int8 RETURNING c.job_id
)
UPDATE :"schema".solid_queue_jobs AS j SET finished_at = timezone('UTC', now()), updated_at = timezone('UTC', now()) FROM ended e WHERE j.id = e.job_id RETURNING j.id;

-- :fail
-- kinds: job
WITH ended AS (
  DELETE FROM :"schema".solid_queue_claimed_executions c WHERE c.job_id = substr(:id, 5)::int8 RETURNING c.job_id
)
INSERT INTO :"schema".solid_queue_failed_executions (job_id, error, created_at)
SELECT e.job_id, '{"exception_class":"UnstickTry","message":"","backtrace":[]}', timezone('UTC', now()) FROM ended e RETURNING job_id;
