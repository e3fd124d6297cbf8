-- What a producer runs next on one job, :id (job:12), for unstick try. From fetch_jobs, complete_job and error_job of the basic engine, for one job and without SKIP LOCKED.

-- :claim
-- kinds: job
UPDATE :"schema".oban_jobs AS j
   SET state = 'executing', attempted_at = timezone('UTC', now()), attempted_by = ARRAY['unstick-try', '00000000-0000-4000-8000-000000000000'], attempt = j.attempt + 1
 WHERE j.id = (SELECT x.id FROM :"schema".oban_jobs AS x WHERE x.id = substr(:id, 5)::int8 AND x.state = 'available' FOR UPDATE)
   AND j.attempt < j.max_attempts
RETURNING j.id;

-- :finish
-- kinds: job
UPDATE :"schema".oban_jobs AS j SET state = 'completed', completed_at = timezone('UTC', now()) WHERE j.id = substr(:id, 5)::int8 RETURNING j.id;

-- :fail
-- kinds: job
UPDATE :"schema".oban_jobs AS j
   SET state = 'retryable', scheduled_at = timezone('UTC', now()) + interval '15 seconds',
       errors = j.errors || jsonb_build_object('attempt', j.attempt, 'at', to_char(timezone('UTC', now()), 'YYYY-MM-DD"T"HH24:MI:SS"Z"'), 'error', 'unstick-try')
 WHERE j.id = substr(:id, 5)::int8 RETURNING j.id;
