-- Queues whose lock has no job: the job was deleted while it ran, so its worker's end of it unlocked nothing.
-- needs: locked_queues, job_by_queue
-- Indexes: one on (locked_at) of locked queues, job_queues_pkey1, one on (job_queue_id).
SELECT 'queue:' || q.id AS id, extract(epoch FROM q.locked_at)::float8 AS since,
       jsonb_build_object('resource', 'queue:' || q.id, 'queue', q.queue_name, 'worker', coalesce(q.locked_by, '?'), 'locked', date_trunc('second', q.locked_at)::text) AS evidence
  FROM :"schema"._private_job_queues q
 WHERE q.locked_at < now() - :worker_lost
   AND (:ids IS NULL OR q.id = ANY (:queue_keys))
   AND NOT EXISTS (SELECT FROM :"schema"._private_jobs j WHERE j.job_queue_id = q.id AND j.locked_at IS NOT NULL)
 ORDER BY q.locked_at, q.id
 LIMIT :limit
