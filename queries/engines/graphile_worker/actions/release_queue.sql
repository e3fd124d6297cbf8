-- Unlock queues whose lock has no job, as the engine's force_unlock_workers does.
-- Indexes: job_queues_pkey1, one on (job_queue_id).

-- :refused
SELECT 'queue:' || q.id AS id, r.why
  FROM :"schema"._private_job_queues q
  LEFT JOIN (SELECT o.job_queue_id, min(o.id) AS id FROM :"schema"._private_jobs o
              WHERE o.job_queue_id = ANY (:queue_keys) AND o.locked_at IS NOT NULL GROUP BY o.job_queue_id) AS j ON j.job_queue_id = q.id
 CROSS JOIN LATERAL (
   SELECT CASE WHEN q.locked_at IS NULL THEN 'no worker has locked it'
               WHEN q.locked_at >= now() - :worker_lost THEN 'a worker locked it lately'
               WHEN j.id IS NOT NULL THEN 'its job ' || j.id || ' is locked, too: release the job' END AS why) AS r
 WHERE q.id = ANY (:queue_keys) AND r.why IS NOT NULL

-- :change
UPDATE :"schema"._private_job_queues q SET locked_at = NULL, locked_by = NULL
  FROM unnest(:ids, :versions) AS seen(id, version)
 WHERE q.id = substr(seen.id, 7)::int8 AND q.xmin::text = seen.version
   AND q.locked_at < now() - :worker_lost
   AND NOT EXISTS (SELECT FROM :"schema"._private_jobs o WHERE o.job_queue_id = q.id AND o.locked_at IS NOT NULL)
RETURNING 'queue:' || q.id AS id
