-- Use up the attempts of jobs that wait, or whose worker is lost, as the engine's permanently_fail_jobs does. That
-- function leaves the locks; here, they are removed, or the queue would wait for its 4 hours.
-- Indexes: jobs_pkey1, job_queues_pkey1.

-- :refused
WITH \ir ../parts/jobs.sql
SELECT 'job:' || j.id AS id, r.why
  FROM jobs j
 CROSS JOIN LATERAL (
   SELECT CASE WHEN j.locked_at IS NULL AND j.attempts >= j.max_attempts THEN 'it has failed as often as it may'
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
UPDATE :"schema"._private_jobs j
   SET attempts = j.max_attempts, last_error = coalesce(nullif(:reason, ''), 'Manually marked as failed'), updated_at = now(), locked_at = NULL, locked_by = NULL
  FROM held h
 WHERE j.id = h.id AND (j.locked_at IS NOT NULL OR j.attempts < j.max_attempts)
RETURNING 'job:' || j.id AS id
