-- Queue a cron entry's job again, as cron does, but with unstick's own instance id,
-- 756e7374-6963-4b00-8000-000000000000. The application records its success. The entry is neither changed nor locked,
-- so workers that record it do not wait. An advisory lock stops two operators from queueing it twice; the application
-- can still queue it at the same time. The server copies the content, so numbers keep every digit.
-- Indexes: cron_last_exec_pkey; both ends of queued_job_pkey. Equal content between the two ends is not found.

-- :lock
WITH entry AS MATERIALIZED (
  SELECT c.id, c.job, c.xmin::text AS version
    FROM :"schema".cron_last_exec c WHERE c.id = ANY (:cron_keys)
   ORDER BY c.id
)
SELECT 'cron:' || e.id AS id, e.version
  FROM entry e
 WHERE pg_try_advisory_xact_lock(hashtextextended('unstick ' || e.job::text, 0))

-- :refused
WITH queued AS MATERIALIZED (
  SELECT a.id, a.content FROM (SELECT o.id, o.content FROM :"schema".queued_job o ORDER BY o.id LIMIT :window::int) AS a
  UNION ALL
  SELECT b.id, b.content FROM (SELECT o.id, o.content FROM :"schema".queued_job o ORDER BY o.id DESC LIMIT :head::int) AS b
)
SELECT 'cron:' || c.id AS id, 'the same content is already queued, as job ' || min(q.id) AS why
  FROM :"schema".cron_last_exec c JOIN queued q ON q.content = c.job
 WHERE c.id = ANY (:cron_keys)
 GROUP BY c.id

-- :change
-- needs: write_last_exec
WITH made AS (
  INSERT INTO :"schema".queued_job (content, creation_instance, creation_time, write_last_exec)
  SELECT c.job, '756e7374-6963-4b00-8000-000000000000', now(), true
    FROM :"schema".cron_last_exec c, unnest(:ids, :versions) AS seen(id, version)
   WHERE c.id = substr(seen.id, 6)::int8
     AND c.xmin::text = seen.version
  RETURNING content
)
SELECT 'cron:' || c.id AS id
  FROM :"schema".cron_last_exec c JOIN made m ON m.content = c.job
 WHERE c.id = ANY (:cron_keys)
