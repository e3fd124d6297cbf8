-- Cancel jobs that do not run, or whose producer is gone: the engine cancels an executing one by a message to its producer, and
-- makes the same change to its row.
-- Index: oban_jobs_pkey.

-- :refused
SELECT 'job:' || j.id AS id, r.why
  FROM :"schema".oban_jobs j
 CROSS JOIN LATERAL (
   SELECT CASE WHEN j.state::text IN ('completed', 'discarded', 'cancelled') THEN 'the job is ' || j.state || ': it has ended'
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
UPDATE :"schema".oban_jobs j SET state = 'cancelled', cancelled_at = timezone('UTC', now())
  FROM unnest(:ids, :versions) AS seen(id, version)
 WHERE j.id = substr(seen.id, 5)::int8 AND j.xmin::text = seen.version
   AND j.state::text NOT IN ('completed', 'discarded', 'cancelled')
RETURNING 'job:' || j.id AS id
