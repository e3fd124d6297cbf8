-- Of each of these jobs that is executing: whether its producer lives, and why it may.
owner AS (
  WITH \ir executing_jobs.sql
, \ir started.sql
, \ir producer.sql
  SELECT 'job:' || j.id AS id, extract(epoch FROM coalesce(p.updated_at, j.attempted_at))::float8 AS since,
         CASE WHEN p.updated_at >= timezone('UTC', now()) - :alive THEN 'alive' WHEN p.id IS NULL AND EXISTS (SELECT FROM started) THEN 'unknown' ELSE 'dead' END AS verdict,
         CASE WHEN p.id IS NULL THEN (SELECT s.why FROM started s)
              ELSE 'its node ' || p.node || ' lives: the last heartbeat was at ' || date_trunc('second', p.updated_at) || ' UTC. To stop the job, run in the application: Oban.cancel_job(' || j.id || ')' END AS why,
         CASE WHEN p.id IS NULL THEN 'its producer is not registered any more' ELSE 'its node ' || p.node || ' sent the newest at ' || date_trunc('second', p.updated_at) || ' UTC' END AS detail
    FROM executing j LEFT JOIN producer p ON p.id = j.id
)
