-- Sessions by pid, with what a signal to each would mean.
-- ids: pids
-- `started` is NULL if the role may not see it. `may`: the role may signal the session. pg_stat_activity is read once.
SELECT 'backend:' || a.pid AS id, extract(epoch FROM a.backend_start)::text AS started, coalesce(a.backend_type, '') AS type,
       coalesce(a.state, '') AS state, a.pid = pg_backend_pid() AS own,
       me.rolsuper OR (a.usesysid IS NOT NULL AND NOT coalesce(r.rolsuper, false)
         AND (pg_has_role(me.oid, r.oid, 'USAGE') OR pg_has_role(me.oid, 'pg_signal_backend', 'USAGE'))) AS may,
       coalesce(r.rolsuper, true) AS superuser, extract(epoch FROM now())::float8 AS now,
       json_build_object('pid', a.pid, 'application', a.application_name, 'role', a.usename, 'database', a.datname,
         'client', host(a.client_addr), 'connected', a.backend_start, 'state', a.state, 'transaction_start', a.xact_start,
         'statement', left(a.query, 500)) AS row
  FROM pg_stat_activity a
  JOIN pg_roles me ON me.rolname = current_user
  LEFT JOIN pg_roles r ON r.oid = a.usesysid
 WHERE a.pid = ANY (ARRAY(SELECT i::int FROM unnest(:ids) AS i))
