-- Pause queues: workers take no more jobs of them.
-- Index: the one on solid_queue_pauses(queue_name). A queue that is open has no row to lock, so an advisory lock is taken.

-- :lock
SELECT q.id, coalesce('paused ' || u.xmin, 'open') AS version
  FROM unnest(:ids) AS q(id)
  LEFT JOIN :"schema".solid_queue_pauses u ON u.queue_name = substr(q.id, 7)
 WHERE CASE WHEN u.id IS NULL THEN pg_try_advisory_xact_lock(hashtext('solid_queue_pauses'), hashtext(q.id)) ELSE true END

-- :refused
SELECT 'queue:' || u.queue_name AS id, 'it is paused already' AS why
  FROM :"schema".solid_queue_pauses u
 WHERE u.queue_name = ANY (:queue_keys)

-- :change
INSERT INTO :"schema".solid_queue_pauses (queue_name, created_at)
SELECT substr(seen.id, 7), timezone('UTC', now())
  FROM unnest(:ids, :versions) AS seen(id, version)
 WHERE seen.version = 'open'
RETURNING 'queue:' || queue_name AS id
