-- Facts about this server and session.
-- id: name of a prepared statement; `named` says whether this session has it.
-- `started`: start of the server process. `life` differs after a crash, after a restart and on another server; `timeline`
-- after a promotion. Right after one the last checkpoint is still on the old timeline, but the end of recovery is on the new
-- one. `read_only` is default_transaction_read_only of a new session. It is read from the catalog, because
-- ALTER DATABASE and ALTER ROLE do not affect existing sessions, and a SET of another client of a pooler does not count.
-- pg_control_system() and similar functions are called through ts_stat(), which runs a statement given as text. With
-- EXECUTE revoked the server refuses a direct call before it evaluates the CASE around it. In that case
-- `system_identifier` is made from the address, and `timeline` is NULL.
WITH
\ir parts/standby_lag.sql
,
\ir parts/server_standbys.sql
SELECT pg_backend_pid() AS pid, EXISTS (SELECT FROM pg_prepared_statements WHERE name = :id) AS named, current_setting('server_version_num')::int / 10000 AS version,
       current_setting('server_version') AS version_text,
       current_database() AS database, session_user::text AS role, current_setting('cluster_name') AS cluster_name,
       (SELECT rolsuper FROM pg_roles WHERE rolname = current_user) AS superuser,
       coalesce(host(inet_server_addr()), 'local socket') AS host, inet_server_port() AS port,
       pg_is_in_recovery() AS standby,
       coalesce(
         (SELECT substr(c.setting, 31)::bool
            FROM pg_db_role_setting s
           CROSS JOIN unnest(s.setconfig) AS c(setting)
           WHERE s.setdatabase IN (0, (SELECT oid FROM pg_database WHERE datname = current_database()))
             AND s.setrole IN (0, (SELECT oid FROM pg_roles WHERE rolname = session_user))
             AND starts_with(c.setting, 'default_transaction_read_only=')
           ORDER BY s.setrole <> 0 DESC, s.setdatabase <> 0 DESC
           LIMIT 1),
         current_setting('default_transaction_read_only')::bool
         AND (SELECT reset_val::bool AND source NOT IN ('database', 'user', 'database user')
                FROM pg_settings WHERE name = 'default_transaction_read_only')) AS read_only,
       g.lag,
       extract(epoch FROM now())::float8 AS now, extract(epoch FROM pg_postmaster_start_time())::float8 AS started,
       b.standbys, b.slots, pg_postmaster_start_time() || ' ' || coalesce(pg_stat_get_bgwriter_stat_reset_time()::text, '') AS life,
       coalesce(split_part(h.history, '/', 1), 'at ' || coalesce(host(inet_server_addr()) || ':' || inet_server_port(), 'socket'))
         AS system_identifier,
       nullif(split_part(h.history, '/', 2), '')::int AS timeline
  FROM (SELECT CASE WHEN has_function_privilege('pg_control_system()', 'EXECUTE')
                  AND has_function_privilege('pg_control_checkpoint()', 'EXECUTE')
                  AND has_function_privilege('pg_control_recovery()', 'EXECUTE')
             THEN (SELECT word FROM ts_stat($$
                    SELECT array_to_tsvector(ARRAY[s.system_identifier || '/' || greatest(c.timeline_id, r.min_recovery_end_timeline)])
                      FROM pg_control_system() AS s, pg_control_checkpoint() AS c, pg_control_recovery() AS r$$)) END AS history OFFSET 0) AS h
 CROSS JOIN standby_lag g CROSS JOIN server_standbys b
