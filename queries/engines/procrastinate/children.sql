-- Jobs of a queue, newest first.
-- kinds: queue
-- needs: job_by_queue
-- parent: local id: queue:name
SELECT 'job:' || j.id AS id, j.id::text AS cursor
  FROM :"schema".procrastinate_jobs j
 WHERE j.queue_name = substr(:parent, 7) AND j.id < coalesce(:cursor::text::int8, 9223372036854775807)
 ORDER BY j.id DESC
 LIMIT :limit
