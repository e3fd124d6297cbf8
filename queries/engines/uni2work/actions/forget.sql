-- Delete the record of a last execution, so that cron treats the job as never executed. Refuse while a worker executes
-- equal content, because that worker would record it again.
-- Indexes: cron_last_exec_pkey; the start of queued_job_pkey.

-- :lock
-- Also lock the queued rows of equal content, so that no worker takes one now and later writes the deleted record.
-- If another transaction holds one of them, the entry is locked.
WITH wanted AS MATERIALIZED (
  SELECT c.id, c.job AS content, c.xmin::text AS version
    FROM :"schema".cron_last_exec c WHERE c.id = ANY (:cron_keys)
   ORDER BY c.id
     FOR UPDATE SKIP LOCKED
), equal AS MATERIALIZED (
  SELECT o.id, w.id AS wanted
    FROM (SELECT * FROM :"schema".queued_job ORDER BY id LIMIT :window::int) AS o JOIN wanted w ON w.content = o.content
   WHERE o.lock_instance IS NULL AND o.lock_time IS NULL
), held AS MATERIALIZED (
  SELECT q.id FROM :"schema".queued_job q WHERE q.id = ANY (ARRAY(SELECT e.id FROM equal e))
   ORDER BY q.id FOR UPDATE SKIP LOCKED
)
SELECT 'cron:' || w.id AS id, w.version
  FROM wanted w
 WHERE NOT EXISTS (SELECT FROM equal e WHERE e.wanted = w.id AND e.id NOT IN (SELECT h.id FROM held h))

-- :refused
WITH locked AS MATERIALIZED (
  SELECT w.id, w.content
    FROM (SELECT o.id, o.content, o.lock_instance, o.lock_time FROM :"schema".queued_job o ORDER BY o.id LIMIT :window::int) AS w
   WHERE w.lock_instance IS NOT NULL OR w.lock_time IS NOT NULL
)
SELECT 'cron:' || c.id AS id, 'job ' || min(b.id) || ' has the same content and is locked. A worker may be running it and would record it again' AS why
  FROM :"schema".cron_last_exec c JOIN locked b ON b.content = c.job
 WHERE c.id = ANY (:cron_keys)
 GROUP BY c.id
