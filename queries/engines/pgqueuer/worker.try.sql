-- What a queue manager runs next on one job, :id (job:12), for unstick try. From build_dequeue_query, build_update_heartbeat_query and build_log_job_query, for one job and without SKIP LOCKED.

-- :claim
-- kinds: job
WITH claimed AS (
  UPDATE :"schema".:"pgqueuer" AS p SET status = 'picked', updated = now(), heartbeat = now(), queue_manager_id = '00000000-0000-4000-8000-000000000000'
   WHERE p.id IN (SELECT q.id FROM :"schema".:"pgqueuer" AS q WHERE q.id = substr(:id, 5)::int8 AND q.execute_after < now()
                    AND (q.status = 'queued' OR q.status = 'picked' AND q.heartbeat < now() - :heartbeat_timeout) FOR UPDATE)
  RETURNING p.id, p.status, p.entrypoint, p.priority
),
log_pick AS (
  INSERT INTO :"schema".:"pgqueuer_log" (job_id, status, entrypoint, priority) SELECT c.id, c.status, c.entrypoint, c.priority FROM claimed c
)
SELECT c.id FROM claimed c;

-- :progress
-- kinds: job
UPDATE :"schema".:"pgqueuer" AS p SET heartbeat = now() WHERE p.id = substr(:id, 5)::int8 RETURNING p.id;

-- :finish
-- kinds: job
WITH deleted AS (
  DELETE FROM :"schema".:"pgqueuer" AS p WHERE p.id = substr(:id, 5)::int8 RETURNING p.id, p.entrypoint, p.priority
)
INSERT INTO :"schema".:"pgqueuer_log" (job_id, status, entrypoint, priority, traceback) SELECT d.id, 'successful', d.entrypoint, d.priority, NULL FROM deleted d RETURNING job_id;

-- :fail
-- kinds: job
WITH deleted AS (
  DELETE FROM :"schema".:"pgqueuer" AS p WHERE p.id = substr(:id, 5)::int8 RETURNING p.id, p.entrypoint, p.priority
)
INSERT INTO :"schema".:"pgqueuer_log" (job_id, status, entrypoint, priority, traceback)
SELECT d.id, 'exception', d.entrypoint, d.priority, jsonb_build_object('exception_type', 'UnstickTry', 'exception_message', '', 'traceback', '') FROM deleted d RETURNING job_id;
