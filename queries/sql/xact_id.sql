-- This transaction's id and start time, and the server's `life` and `history`. With them the console finds out the outcome
-- of a COMMIT whose answer was lost. `synchronous` names the standbys that COMMIT waits for.
SELECT pg_current_xact_id()::text AS xid, extract(epoch FROM now())::float8 AS at,
\ir parts/server_life.sql
     , CASE WHEN current_setting('synchronous_commit') NOT IN ('off', 'local') THEN current_setting('synchronous_standby_names') ELSE '' END
         AS synchronous,
       -- ts_stat() runs its query only if the role may execute the function, as above. Otherwise there may be a standby.
       CASE WHEN has_function_privilege('pg_stat_get_wal_senders()', 'EXECUTE')
            THEN coalesce((SELECT word::int FROM ts_stat($$
                   SELECT array_to_tsvector(ARRAY[count(*)::text]) FROM pg_stat_get_wal_senders() AS w WHERE w.state IS DISTINCT FROM 'backup'$$)), 0)
            ELSE 1 END AS standbys
