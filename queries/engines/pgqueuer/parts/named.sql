-- Jobs that are not picked but name a worker: the engine counts each row that names one against the concurrency limit.
-- Usually caused by a manual change. The first 1,000 rows that name a worker.
-- needs: by_worker
-- needs of ids: none
-- Indexes: pgqueuer_queue_manager_id_idx, pgqueuer_pkey.
named AS MATERIALIZED (
  (SELECT o.id, o.status, o.updated, o.queue_manager_id, o.entrypoint FROM :"schema".:"pgqueuer" o
    WHERE :ids IS NULL AND o.queue_manager_id IS NOT NULL ORDER BY o.queue_manager_id LIMIT 1000)
  UNION ALL
  SELECT o.id, o.status, o.updated, o.queue_manager_id, o.entrypoint FROM :"schema".:"pgqueuer" o
   WHERE o.queue_manager_id IS NOT NULL AND o.id = ANY (:job_keys)
),
nodes AS (SELECT 'job:' || j.id AS id, j.id AS job, j.status, j.updated, j.queue_manager_id, j.entrypoint FROM named j),
more AS (SELECT (SELECT count(*) FROM named) = 1000 AS more)
