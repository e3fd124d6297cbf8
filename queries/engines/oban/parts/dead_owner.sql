-- End of the refusals of an action on executing jobs `j` whose producer may live, and the signs of its life. Without a table of
-- producers, a job must be executing for longer than the threshold.
                    WHEN j.state = 'executing' AND NOT 'producers' = ANY (:met_needs) AND NOT j.attempted_at < timezone('UTC', now()) - :executing
                      THEN 'it is executing since ' || date_trunc('second', j.attempted_at) || ' UTC, and no heartbeat of its producer is recorded: wait for '
                           || :executing || ', or run in the application: Oban.cancel_job(' || j.id || ')'
               END AS why
\ir asked.sql

-- :refused
-- needs: producers
WITH
\ir executing.sql
\ir producer.sql
SELECT 'job:' || j.id AS id,
       CASE WHEN p.id IS NULL THEN (SELECT u.why FROM unjudged u)
            ELSE 'its node ' || p.node || ' lives: the last heartbeat was at ' || date_trunc('second', p.updated_at) || ' UTC. To stop the job, run in the application: Oban.cancel_job(' || j.id || ')' END AS why
  FROM executing j LEFT JOIN producer p ON p.id = j.id
 WHERE p.updated_at >= timezone('UTC', now()) - :alive
    OR p.id IS NULL AND EXISTS (SELECT FROM unjudged)

-- :witnesses
-- needs: producers
WITH
\ir executing.sql
\ir producer.sql
SELECT 'job:' || j.id AS id, 'heartbeat' AS witness,
       CASE WHEN p.updated_at >= timezone('UTC', now()) - :alive THEN 'alive'
            WHEN p.id IS NULL AND EXISTS (SELECT FROM unjudged) THEN 'unknown' ELSE 'dead' END AS verdict,
       CASE WHEN p.id IS NULL THEN 'its producer is not registered any more' ELSE 'its node ' || p.node || ' sent the newest at ' || date_trunc('second', p.updated_at) || ' UTC' END AS detail,
       extract(epoch FROM coalesce(p.updated_at, j.attempted_at))::float8 AS since
  FROM executing j LEFT JOIN producer p ON p.id = j.id
