-- Make executing jobs available again whose producer is gone, as the engine rescues them. If the attempts are used up, the engine
-- discards the job; here, one more is allowed if the operator sets again, because a producer skips a job that has none left.
-- Index: oban_jobs_pkey.

-- :refused
SELECT 'job:' || j.id AS id, r.why
  FROM :"schema".oban_jobs j
 CROSS JOIN LATERAL (
   SELECT CASE WHEN j.state <> 'executing' THEN 'the job is ' || j.state || ', not executing'
               WHEN j.attempt >= j.max_attempts AND (:args ->> 'again')::bool IS NOT TRUE
                 THEN 'this was the last of its ' || j.max_attempts || ' attempts: cancel it, or set again to run it once more'
               WHEN j.state = 'executing' AND NOT 'producers' = ANY (:met_needs) AND NOT j.attempted_at < timezone('UTC', now()) - :executing
                 THEN 'it is executing since ' || date_trunc('second', j.attempted_at) || ' UTC, and no heartbeat of its producer is recorded: wait for '
                      || :executing || ', or run in the application: Oban.cancel_job(' || j.id || ')' END AS why) AS r
 WHERE j.id = ANY (:job_keys) AND r.why IS NOT NULL

-- :refused
-- needs: producers
WITH \ir ../parts/owner.sql
SELECT o.id, o.why FROM owner o WHERE o.verdict <> 'dead'

-- :witnesses
-- needs: producers
WITH \ir ../parts/owner.sql
SELECT o.id, 'heartbeat' AS witness, o.verdict, o.detail, o.since FROM owner o

-- :change
WITH changed AS (
  UPDATE :"schema".oban_jobs j SET state = 'available', max_attempts = greatest(j.max_attempts, j.attempt + 1)
    FROM unnest(:ids, :versions) AS seen(id, version)
   WHERE j.id = substr(seen.id, 5)::int8 AND j.xmin::text = seen.version
     AND j.state = 'executing' AND (j.attempt < j.max_attempts OR (:args ->> 'again')::bool)
  RETURNING j.id, j.queue
)
SELECT 'job:' || c.id AS id
  FROM changed c -- the engine notifies of inserted jobs only; without it, producers see a job at their next poll
 CROSS JOIN LATERAL pg_notify(:'schema' || '.oban_insert', json_build_object('queue', c.queue)::text) AS sent
