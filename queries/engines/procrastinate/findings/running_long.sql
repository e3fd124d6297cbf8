-- Jobs that run for very long, with a living worker, and for whose lock no job waits.
-- needs: doing
-- needs of ids: none
-- Indexes: procrastinate_jobs_lock_idx_v1, procrastinate_workers_pkey, procrastinate_events_job_id_fkey_v1, one on (lock,
-- priority DESC, id) of jobs to do.
WITH
\ir ../parts/doing.sql
(SELECT 'job:' || j.id AS id, extract(epoch FROM e.started)::float8 AS since,
        jsonb_build_object('started', date_trunc('second', e.started)::text, 'age', date_trunc('second', now() - e.started)::text,
                           'worker', j.worker_id, 'queue', j.queue_name) AS evidence
   FROM doing j
  CROSS JOIN LATERAL (SELECT o.last_heartbeat FROM :"schema".procrastinate_workers o WHERE o.id = j.worker_id OFFSET 0) AS w -- one index search for each
\ir ../parts/times.sql
\ir ../parts/waiting.sql
  WHERE e.started < now() - :running_long AND n.n = 0
    AND w.last_heartbeat >= now() - :worker_silent
  ORDER BY j.id
  LIMIT :page)
UNION ALL
SELECT NULL, NULL, NULL WHERE (SELECT count(*) FROM doing) = 5000
