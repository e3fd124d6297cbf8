-- A worker pool of the demo. It takes jobs of the task mail that no queue holds up; those that a lost pool has locked stay locked.

-- :arrive every 4 ticks, at most 2000 times
INSERT INTO _private_jobs (task_id, payload) SELECT id, json_build_object('to', 'user' || floor(random() * 900)) FROM _private_tasks WHERE identifier = 'mail';

-- :fail every 3 ticks
-- One in twenty fails and is tried again after exp(attempts) seconds.
UPDATE _private_jobs SET locked_at = NULL, locked_by = NULL, last_error = 'no such mailbox', run_at = now() + exp(least(attempts, 10)) * interval '1 second', updated_at = now()
 WHERE locked_by = 'pool-demo' AND locked_at < now() - interval '1 second' AND random() < 0.05;

-- :finish every 3 ticks
WITH ended AS (
  DELETE FROM _private_jobs WHERE locked_by = 'pool-demo' AND locked_at < now() - interval '1 second' RETURNING job_queue_id
)
UPDATE _private_job_queues q SET locked_at = NULL, locked_by = NULL FROM ended e WHERE q.id = e.job_queue_id AND q.locked_by = 'pool-demo';

-- :take every 3 ticks
WITH next AS (
  SELECT j.id, j.job_queue_id FROM _private_jobs j
   WHERE j.is_available AND j.run_at <= now() AND j.run_at > now() - interval '10 minutes' AND j.task_id IN (SELECT id FROM _private_tasks WHERE identifier = 'mail')
     AND (j.job_queue_id IS NULL OR EXISTS (SELECT FROM _private_job_queues q WHERE q.id = j.job_queue_id AND q.is_available))
   ORDER BY j.priority, j.run_at LIMIT 2 FOR UPDATE SKIP LOCKED
),
queue AS (
  UPDATE _private_job_queues q SET locked_at = now(), locked_by = 'pool-demo' FROM next n WHERE q.id = n.job_queue_id
)
UPDATE _private_jobs j SET attempts = attempts + 1, locked_at = now(), locked_by = 'pool-demo', updated_at = now() FROM next n WHERE j.id = n.id;
