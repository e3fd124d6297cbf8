-- Find rows with only one of lock_instance and lock_time. No constraint forbids that.
-- Indexes: the start of queued_job_pkey, and one on queued_job(lock_time) if it exists.
WITH
\ir ../parts/locks.sql
(SELECT 'job:' || l.id AS id, extract(epoch FROM coalesce(l.lock_time, q.creation_time))::float8 AS since,
        jsonb_build_object('there', CASE WHEN l.lock_time IS NULL THEN 'lock_instance ' || l.lock_instance ELSE 'lock_time ' || l.lock_time END,
                           'missing', CASE WHEN l.lock_time IS NULL THEN 'lock_time' ELSE 'lock_instance' END) AS evidence
   FROM locked l JOIN :"schema".queued_job q ON q.id = l.id
  WHERE (l.lock_instance IS NULL) <> (l.lock_time IS NULL)
    AND (:ids IS NULL OR 'job:' || l.id = ANY (:ids))
  ORDER BY l.id
  LIMIT :limit)
UNION ALL
SELECT NULL, NULL, NULL WHERE :ids IS NULL AND EXISTS (SELECT FROM :"schema".queued_job ORDER BY id OFFSET :window::int)
