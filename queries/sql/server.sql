-- What this server and this session are.
SELECT current_setting('server_version_num')::int / 10000 AS version,
       current_setting('server_version') AS version_text,
       current_database() AS database, session_user::text AS role,
       (SELECT rolsuper FROM pg_roles WHERE rolname = current_user) AS superuser,
       coalesce(host(inet_server_addr()), 'local socket') AS host, inet_server_port() AS port,
       pg_is_in_recovery() AS standby,
       current_setting('default_transaction_read_only')::bool AS read_only,
       CASE WHEN pg_is_in_recovery() THEN extract(epoch FROM now() - pg_last_xact_replay_timestamp())::float8 END AS lag,
       extract(epoch FROM now())::float8 AS now
