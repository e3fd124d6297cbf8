-- Running jobs with their worker, the time of their start, and the due jobs that wait for their lock.
-- needs: doing
-- needs of ids: none
-- Indexes: procrastinate_jobs_lock_idx_v1, procrastinate_workers_pkey, procrastinate_events_job_id_fkey_v1, one on
-- (lock, priority DESC, id) of jobs to do.
\ir doing.sql
, \ir locks.sql
, \ir times.sql
, \ir waiting.sql
, nodes AS (
  SELECT 'job:' || j.id AS id, j.worker_id, j.queue_name, w.last_heartbeat, j.started, j.n
    FROM waiting j LEFT JOIN :"schema".procrastinate_workers w ON w.id = j.worker_id
),
more AS (SELECT (SELECT count(*) FROM asked) = 5000 AS more)
