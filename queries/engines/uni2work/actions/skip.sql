-- Record a job that cron queued as executed now: delete its row and write its content to cron_last_exec, in one
-- transaction. The record has unstick's own instance id, 756e7374-6963-4b00-8000-000000000000. Refuse while a worker
-- executes equal content: a record written here would abort the worker's SERIALIZABLE transaction when the worker
-- writes its own. A row of equal content that is queued and taken during the commit cannot be excluded, but cron never
-- queues content that is already queued (assumed). The server copies it, so numbers keep every digit.
-- Indexes: queued_job_pkey; unique_cron_last_exec. Content of more than a few kilobytes does not fit into that index
-- and gives a conflict.

-- :lock
SELECT 'job:' || q.id AS id, coalesce(q.lock_instance::text, '-') || '@' || coalesce(q.lock_time::text, '-') || ':' || q.xmin AS version
  FROM :"schema".queued_job q
 WHERE q.id = ANY (:job_keys) AND (q.lock_instance IS NOT NULL OR q.lock_time IS NOT NULL)

-- :lock
-- Also lock all other rows of equal content: a worker that takes one of them now would later write the same record.
-- If another transaction holds one of them, the job is locked.
WITH wanted AS MATERIALIZED (
  SELECT q.id, q.content FROM :"schema".queued_job q
   WHERE q.id = ANY (:job_keys) AND q.lock_instance IS NULL AND q.lock_time IS NULL
), equal AS MATERIALIZED (
  SELECT w.id, w.id AS wanted FROM wanted w
  UNION
  SELECT o.id, w.id AS wanted
    FROM (SELECT * FROM :"schema".queued_job ORDER BY id LIMIT :window::int) AS o JOIN wanted w ON w.content = o.content
   WHERE o.lock_instance IS NULL AND o.lock_time IS NULL
), held AS MATERIALIZED (
  SELECT q.id, coalesce(q.lock_instance::text, '-') || '@' || coalesce(q.lock_time::text, '-') || ':' || xmin AS version
    FROM :"schema".queued_job q
   WHERE q.id = ANY (ARRAY(SELECT e.id FROM equal e))
   ORDER BY q.id FOR UPDATE SKIP LOCKED
)
SELECT 'job:' || h.id AS id, h.version
  FROM held h
 WHERE NOT EXISTS (SELECT FROM equal e WHERE e.wanted = h.id AND e.id NOT IN (SELECT o.id FROM held o))

-- :refused
SELECT r.id, r.why
  FROM (SELECT 'job:' || q.id AS id,
               CASE WHEN q.lock_instance IS NOT NULL OR q.lock_time IS NOT NULL
                      THEN 'it is locked. A worker may be running it and records it itself'
                    WHEN NOT q.write_last_exec THEN 'the application does not record its success (write_last_exec is false). Cancel it instead'
                    WHEN EXISTS (SELECT FROM (SELECT w.content
                                                FROM (SELECT o.content, o.lock_time, o.lock_instance FROM :"schema".queued_job o ORDER BY o.id LIMIT :window::int) AS w
                                               WHERE w.lock_instance IS NOT NULL OR w.lock_time IS NOT NULL
                                              UNION ALL
                                              SELECT o.content FROM :"schema".queued_job o
                                               WHERE o.lock_time IS NOT NULL AND 'queue_by_lock_time' = ANY (:met_needs)) AS locked
                                  WHERE locked.content = q.content)
                      THEN 'a worker is running equal content and will record it. A write here would abort its transaction'
               END AS why
          FROM :"schema".queued_job q
         WHERE q.id = ANY (:job_keys)) AS r
 WHERE r.why IS NOT NULL

-- :change
-- needs: write_last_exec
WITH skipped AS (
  DELETE FROM :"schema".queued_job q
   USING unnest(:ids, :versions) AS seen(id, version)
   WHERE q.id = substr(seen.id, 5)::int8
     AND q.lock_instance IS NULL AND q.lock_time IS NULL AND q.write_last_exec
     AND coalesce(q.lock_instance::text, '-') || '@' || coalesce(q.lock_time::text, '-') || ':' || q.xmin = seen.version
  RETURNING q.id, q.content
), recorded AS (
  INSERT INTO :"schema".cron_last_exec (job, "time", instance)
  SELECT s.content, now(), '756e7374-6963-4b00-8000-000000000000'
    FROM (SELECT DISTINCT content FROM skipped) AS s
  ON CONFLICT (job) DO UPDATE SET "time" = greatest(cron_last_exec."time", excluded."time"), instance = excluded.instance
  RETURNING job
)
SELECT 'job:' || s.id AS id FROM skipped s JOIN recorded r ON r.job = s.content
