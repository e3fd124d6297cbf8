-- Workers, each with its last heartbeat. Its queues are only in its code: those of the jobs that it runs are known.
-- Indexes: none: there is a row for each worker; 1,000 at most are read. procrastinate_jobs_lock_idx_v1.
WITH doing AS MATERIALIZED (
  SELECT j.worker_id, jsonb_agg(DISTINCT j.queue_name) AS queues
    FROM (SELECT o.queue_name, o.worker_id FROM :"schema".procrastinate_jobs o WHERE o.status = 'doing' ORDER BY o.lock LIMIT 1000) AS j
   GROUP BY j.worker_id
)
SELECT 'worker ' || w.id AS worker, extract(epoch FROM w.last_heartbeat)::float8 AS seen, w.last_heartbeat >= now() - :worker_silent AS alive,
       coalesce(d.queues, '[]') AS serves, false AS only
  FROM (SELECT o.id, o.last_heartbeat FROM :"schema".procrastinate_workers o ORDER BY o.id DESC LIMIT 1000) AS w
  LEFT JOIN doing d ON d.worker_id = w.id
