-- Jobs that run for long, with a living worker, while due jobs wait for their lock.
-- needs: doing, todo_by_lock
-- Indexes: procrastinate_jobs_lock_idx_v1, procrastinate_workers_pkey, procrastinate_events_job_id_fkey_v1, one on
-- (lock, priority DESC, id) of jobs to do.
WITH
\ir ../parts/locks.sql
,
\ir ../parts/doing.sql
(SELECT 'job:' || j.id AS id, extract(epoch FROM e.started)::float8 AS since,
        jsonb_build_object('started', date_trunc('second', e.started)::text, 'waiting', n.text, 'lock', j.lock, 'resource', j.id::text) AS evidence
   FROM doing j
  CROSS JOIN LATERAL (SELECT o.last_heartbeat FROM :"schema".procrastinate_workers o WHERE o.id = j.worker_id OFFSET 0) AS w -- one index search for each
\ir ../parts/times.sql
\ir ../parts/waiting.sql
  WHERE j.lock IS NOT NULL AND n.n > 0 AND e.started < now() - :lock_held_long
    AND w.last_heartbeat >= now() - :worker_silent
  ORDER BY j.id
  LIMIT :limit)
UNION ALL
SELECT NULL, NULL, NULL WHERE (SELECT count(*) FROM doing) = 5000
