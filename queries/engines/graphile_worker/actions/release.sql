-- Unlock jobs of lost workers and their queues, as the engine's force_unlock_workers does. That function leaves a job
-- whose last attempt was taken without an attempt, so it would never run; here, one is given back if the operator sets
-- again: the job may be what ended its worker. A job keeps its place in the queue; updated_at says since when it is free.
-- Indexes: jobs_pkey1, job_queues_pkey1.

-- :refused
WITH \ir ../parts/jobs.sql
SELECT 'job:' || j.id AS id, r.why
  FROM jobs j
 CROSS JOIN LATERAL (
   SELECT CASE WHEN j.locked_at IS NULL THEN 'no worker has locked it'
               WHEN j.attempts >= j.max_attempts AND (:args ->> 'again')::bool IS NOT TRUE AND j.lost
                 THEN 'this was the last of its ' || j.max_attempts || ' attempts: mark it as failed, or set again to run it once more'
               WHEN NOT j.lost THEN 'it was locked ' || date_trunc('second', now() - j.locked_at) || ' ago, and its worker may still run it. ' || j.workers END AS why) AS r
 WHERE r.why IS NOT NULL

-- :witnesses
WITH \ir ../parts/lost_owner.sql
SELECT * FROM lost_owner

-- :change
-- Workers lock the rows of a job before that of its queue, too, when they end one.
WITH \ir ../parts/jobs.sql
, held AS MATERIALIZED (
  SELECT j.id, j.job_queue_id, j.locked_by
    FROM jobs j
    JOIN unnest(:ids, :versions) AS seen(id, version) ON j.id = substr(seen.id, 5)::int8 AND j.version = seen.version
   WHERE j.locked_at IS NULL OR j.lost
),
freed AS (
  UPDATE :"schema"._private_job_queues q SET locked_at = NULL, locked_by = NULL
    FROM held h
   WHERE q.id = h.job_queue_id AND q.locked_by = h.locked_by
)
UPDATE :"schema"._private_jobs j SET locked_at = NULL, locked_by = NULL, attempts = least(j.attempts, j.max_attempts - 1), updated_at = now()
  FROM held h
 WHERE j.id = h.id AND j.locked_at IS NOT NULL AND (j.attempts < j.max_attempts OR (:args ->> 'again')::bool)
RETURNING 'job:' || j.id AS id
