-- What a worker runs next on one job, :id (job:12), for unstick try. From procrastinate_fetch_job_v2 and procrastinate_finish_job_v1, for one job and without SKIP LOCKED.

-- :claim
-- kinds: job
WITH candidate AS (
  SELECT jobs.id FROM :"schema".procrastinate_jobs AS jobs
   WHERE jobs.id = substr(:id, 5)::int8 AND jobs.status = 'todo' AND (jobs.scheduled_at IS NULL OR jobs.scheduled_at <= now())
     AND NOT EXISTS (SELECT 1 FROM :"schema".procrastinate_jobs AS other_jobs
                      WHERE jobs.lock IS NOT NULL AND other_jobs.lock = jobs.lock
                        AND (other_jobs.status = 'doing' OR other_jobs.status = 'todo' AND (other_jobs.priority > jobs.priority OR other_jobs.priority = jobs.priority AND other_jobs.id < jobs.id)))
     FOR UPDATE OF jobs
)
UPDATE :"schema".procrastinate_jobs AS j SET status = 'doing', worker_id = (SELECT max(w.id) FROM :"schema".procrastinate_workers w) FROM candidate WHERE j.id = candidate.id RETURNING j.id;

-- :finish
-- kinds: job
UPDATE :"schema".procrastinate_jobs AS j SET status = 'succeeded', abort_requested = false, attempts = CASE j.status WHEN 'doing' THEN j.attempts + 1 ELSE j.attempts END
 WHERE j.id = substr(:id, 5)::int8 AND j.status IN ('todo', 'doing') RETURNING j.id;

-- :fail
-- kinds: job
UPDATE :"schema".procrastinate_jobs AS j SET status = 'failed', abort_requested = false, attempts = CASE j.status WHEN 'doing' THEN j.attempts + 1 ELSE j.attempts END
 WHERE j.id = substr(:id, 5)::int8 AND j.status IN ('todo', 'doing') RETURNING j.id;
