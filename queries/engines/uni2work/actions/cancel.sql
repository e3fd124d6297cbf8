-- Delete an unlocked job. Locked rows are neither changed nor locked with FOR UPDATE: deleting one would not stop the
-- worker, but would abort the worker's SERIALIZABLE transaction, so that the job's work is repeated.

-- :refused
SELECT 'job:' || q.id AS id,
       'it is locked by ' || coalesce('instance ' || q.lock_instance, 'an unknown instance') || '. Deleting the row would not stop the worker. If that instance is gone, release the lock first' AS why
\ir ../parts/asked_jobs.sql
   AND (q.lock_instance IS NOT NULL OR q.lock_time IS NOT NULL)

-- :change
DELETE FROM :"schema".queued_job q
 USING unnest(:ids, :versions) AS seen(id, version)
 WHERE q.id = substr(seen.id, 5)::int8
   AND q.lock_instance IS NULL AND q.lock_time IS NULL
   AND coalesce(q.lock_instance::text, '-') || '@' || coalesce(q.lock_time::text, '-') || ':' || q.xmin = seen.version
RETURNING 'job:' || q.id AS id
