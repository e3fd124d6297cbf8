-- These jobs, locked. The rows of executions are what workers and dispatchers lock, and the job's row is what an end of a job
-- changes. None is waited for, so no order of locks can end in a deadlock.
locked AS (
  WITH \ir jobs.sql
  SELECT 'job:' || j.id AS id, j.version, j.waits_for
    FROM jobs j
   WHERE j.id = ANY (ARRAY(SELECT k.id FROM :"schema".solid_queue_jobs k
                            WHERE k.id = ANY (:job_keys) ORDER BY k.id FOR UPDATE SKIP LOCKED))
     AND (j.ready IS NULL OR j.ready = ANY (ARRAY(SELECT k.id FROM :"schema".solid_queue_ready_executions k
                                         WHERE k.job_id = ANY (:job_keys) ORDER BY k.job_id FOR UPDATE SKIP LOCKED)))
     AND (j.claimed IS NULL OR j.claimed = ANY (ARRAY(SELECT k.id FROM :"schema".solid_queue_claimed_executions k
                                         WHERE k.job_id = ANY (:job_keys) ORDER BY k.job_id FOR UPDATE SKIP LOCKED)))
     AND (j.failed IS NULL OR j.failed = ANY (ARRAY(SELECT k.id FROM :"schema".solid_queue_failed_executions k
                                         WHERE k.job_id = ANY (:job_keys) ORDER BY k.job_id FOR UPDATE SKIP LOCKED)))
     AND (j.blocked IS NULL OR j.blocked = ANY (ARRAY(SELECT k.id FROM :"schema".solid_queue_blocked_executions k
                                         WHERE k.job_id = ANY (:job_keys) ORDER BY k.job_id FOR UPDATE SKIP LOCKED)))
     AND (j.scheduled IS NULL OR j.scheduled = ANY (ARRAY(SELECT k.id FROM :"schema".solid_queue_scheduled_executions k
                                         WHERE k.job_id = ANY (:job_keys) ORDER BY k.job_id FOR UPDATE SKIP LOCKED)))
)
