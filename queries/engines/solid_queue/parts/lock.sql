-- The rows of executions are what workers and dispatchers lock, and the job's row is what an end of a job changes. None
-- is waited for, so no order of locks can end in a deadlock.
-- :lock
SELECT 'job:' || j.id AS id,
\ir version.sql
         AS version
\ir jobs.sql
   AND j.id = ANY (ARRAY(SELECT k.id FROM :"schema".solid_queue_jobs k
                          WHERE k.id = ANY (:job_keys) ORDER BY k.id FOR UPDATE SKIP LOCKED))
   AND (r.id IS NULL OR r.id = ANY (ARRAY(SELECT k.id FROM :"schema".solid_queue_ready_executions k
                                           WHERE k.job_id = ANY (:job_keys) ORDER BY k.job_id FOR UPDATE SKIP LOCKED)))
   AND (c.id IS NULL OR c.id = ANY (ARRAY(SELECT k.id FROM :"schema".solid_queue_claimed_executions k
                                           WHERE k.job_id = ANY (:job_keys) ORDER BY k.job_id FOR UPDATE SKIP LOCKED)))
   AND (f.id IS NULL OR f.id = ANY (ARRAY(SELECT k.id FROM :"schema".solid_queue_failed_executions k
                                           WHERE k.job_id = ANY (:job_keys) ORDER BY k.job_id FOR UPDATE SKIP LOCKED)))
   AND (b.id IS NULL OR b.id = ANY (ARRAY(SELECT k.id FROM :"schema".solid_queue_blocked_executions k
                                           WHERE k.job_id = ANY (:job_keys) ORDER BY k.job_id FOR UPDATE SKIP LOCKED)))
   AND (s.id IS NULL OR s.id = ANY (ARRAY(SELECT k.id FROM :"schema".solid_queue_scheduled_executions k
                                           WHERE k.job_id = ANY (:job_keys) ORDER BY k.job_id FOR UPDATE SKIP LOCKED)))
