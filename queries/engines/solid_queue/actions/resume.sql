-- Resume paused queues: workers take jobs of them at their next poll.
-- Index: the one on solid_queue_pauses(queue_name).

-- :lock
SELECT q.id, 'open' AS version
  FROM unnest(:ids) AS q(id)
 WHERE NOT EXISTS (SELECT FROM :"schema".solid_queue_pauses u WHERE u.queue_name = substr(q.id, 7))

-- :lock
SELECT 'queue:' || u.queue_name AS id, 'paused ' || u.xmin AS version
  FROM :"schema".solid_queue_pauses u
 WHERE u.queue_name = ANY (:queue_keys)
 ORDER BY u.id
   FOR UPDATE SKIP LOCKED

-- :refused
SELECT q.id, 'it is not paused' AS why
  FROM unnest(:ids) AS q(id)
 WHERE NOT EXISTS (SELECT FROM :"schema".solid_queue_pauses u WHERE u.queue_name = substr(q.id, 7))

-- :change
DELETE FROM :"schema".solid_queue_pauses u
 USING unnest(:ids, :versions) AS seen(id, version)
 WHERE u.queue_name = substr(seen.id, 7) AND 'paused ' || u.xmin = seen.version
RETURNING seen.id
