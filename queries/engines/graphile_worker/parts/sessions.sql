-- Sessions of workers: each pool listens in one, which begins before the pool locks a job. A session that this role may
-- not see counts as one that is older than any job. After an error, a pool listens in a new session.
sessions AS MATERIALIZED (
  SELECT coalesce(min(coalesce(a.backend_start, '-infinity')), 'infinity') AS oldest,
         CASE count(*) WHEN 0 THEN 'No worker is connected' WHEN 1 THEN 'One worker is connected, since ' ELSE count(*) || ' workers are connected, the first since ' END
           || coalesce(date_trunc('second', min(a.backend_start))::text, '') AS text
    FROM pg_catalog.pg_stat_activity a
   WHERE a.datname = current_database() AND (a.query LIKE 'LISTEN "jobs:insert"%' OR a.backend_start IS NULL OR a.state = 'disabled')
)
