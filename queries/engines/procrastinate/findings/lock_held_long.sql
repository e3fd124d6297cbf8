-- Jobs that run for long, with a living worker, while due jobs wait for their lock.
-- needs: doing, todo_by_lock
-- Indexes: procrastinate_jobs_lock_idx_v1, procrastinate_workers_pkey, procrastinate_events_job_id_fkey_v1, one on
-- (lock, priority DESC, id) of jobs to do.
WITH \ir ../parts/locks.sql
, \ir ../parts/doing.sql
, \ir ../parts/times.sql
, \ir ../parts/waiting.sql
(SELECT 'job:' || j.id AS id, extract(epoch FROM j.started)::float8 AS since,
        jsonb_build_object('started', date_trunc('second', j.started)::text, 'waiting', j.waiting, 'lock', j.lock, 'resource', j.id::text) AS evidence
   FROM waiting j
  WHERE j.lock IS NOT NULL AND j.n > 0 AND j.started < now() - :lock_held_long
    AND (SELECT w.last_heartbeat FROM :"schema".procrastinate_workers w WHERE w.id = j.worker_id) >= now() - :worker_silent
  ORDER BY j.id
  LIMIT :limit)
UNION ALL
SELECT NULL, NULL, NULL WHERE (SELECT count(*) FROM asked) = 5000
