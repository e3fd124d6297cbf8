-- Unfinished jobs of a queue, oldest first.
-- kinds: queue
-- parent: local id of the queue
-- needs: queue_jobs
SELECT 'job:' || j.id AS id, j.id::text AS cursor
  FROM :"schema".solid_queue_jobs j
 WHERE j.queue_name = substr(:parent, 7) AND j.finished_at IS NULL AND (:cursor IS NULL OR j.id > :cursor::text::int8)
 ORDER BY j.id
 LIMIT :limit
