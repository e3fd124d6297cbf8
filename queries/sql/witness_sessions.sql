-- Sessions of other programs in this database, and the backend_start of each that this role may see.
-- Parameters: none. Reads pg_stat_activity once.
SELECT count(*) AS n, coalesce(array_agg(extract(epoch FROM a.backend_start)::float8), '{}') AS starts
  FROM pg_stat_activity a
 WHERE a.datname = current_database()
   AND a.usesysid IS NOT NULL
   AND coalesce(a.backend_type, 'client backend') = 'client backend'
   AND a.application_name IS DISTINCT FROM current_setting('application_name')
